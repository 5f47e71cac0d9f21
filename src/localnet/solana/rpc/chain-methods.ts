/** Methods about the chain itself: slots, hashes, time, fees. */
import { parseMessage } from '../../../formats/solana/message.ts';
import { rentExemptMinimum } from '../../../formats/solana/programs.ts';
import type { Ledger } from '../ledger.ts';
import { feeOf } from '../runtime/execute.ts';
import { maxAccountData } from '../runtime/invocation.ts';
import { blockhashLife, slotsInEpoch } from '../slots.ts';
import {
  addressList,
  checkContext,
  deserialized,
  inContext,
  ledgerVersion,
  type Method,
  type Methods,
  textParam,
  toInteger,
  toOptions,
  withContext,
} from './method.ts';

const feesShown = 20;

const currentSlot: Method = (context, params) => {
  checkContext(context, toOptions(params[0]));
  return context.ledger.slots.now().slot;
};

export function latestBlockhash({ slots }: Ledger): object {
  const { slot } = slots.now();
  return { blockhash: slots.blockhash(slot), lastValidBlockHeight: slot + blockhashLife };
}

export const chainMethods: Methods = {
  getHealth: () => 'ok',
  getVersion: () => ({ 'solana-core': ledgerVersion, 'feature-set': 0 }),
  getGenesisHash: ({ ledger }) => ledger.slots.genesisHash,
  getSlot: currentSlot,
  // Every slot has its block.
  getBlockHeight: currentSlot,
  getFirstAvailableBlock: () => 0,
  getTransactionCount: ({ ledger }) => ledger.transactionCount,
  getBlockTime: ({ ledger }, params) => {
    const slot = toInteger(params[0]);
    return slot <= ledger.slots.now().slot ? ledger.slots.timeOf(slot) : null;
  },
  getEpochInfo: ({ ledger }) => {
    const { slot } = ledger.slots.now();
    return {
      absoluteSlot: slot,
      blockHeight: slot,
      epoch: Math.floor(slot / slotsInEpoch),
      slotIndex: slot % slotsInEpoch,
      slotsInEpoch,
      transactionCount: ledger.transactionCount,
    };
  },
  getEpochSchedule: () => ({
    slotsPerEpoch: slotsInEpoch,
    leaderScheduleSlotOffset: slotsInEpoch,
    warmup: false,
    firstNormalEpoch: 0,
    firstNormalSlot: 0,
  }),
  getLatestBlockhash: inContext(0, ({ ledger }) => latestBlockhash(ledger)),
  isBlockhashValid: (context, params) => {
    const { slots } = context.ledger;
    return withContext(context, slots.isAlive(textParam(params, 0, 'a blockhash'), slots.now()));
  },
  getRecentPrioritizationFees: ({ ledger }, params) => {
    if (params[0] !== undefined && params[0] !== null) addressList(params[0], 128);
    const { slot } = ledger.slots.now();
    const first = Math.max(0, slot - feesShown + 1);
    return Array.from({ length: slot - first + 1 }, (_, index) => ({
      slot: first + index,
      prioritizationFee: 0,
    }));
  },
  getFeeForMessage: (context, params) => {
    const bytes = Buffer.from(textParam(params, 0, 'a message'), 'base64');
    const message = deserialized('message', () => parseMessage(bytes));
    const { ledger } = context;
    return withContext(context, ledger.isCurrent(message) ? (feeOf(message) ?? null) : null);
  },
  getMinimumBalanceForRentExemption: (_context, params) =>
    rentExemptMinimum(toInteger(params[0], maxAccountData)),
};
