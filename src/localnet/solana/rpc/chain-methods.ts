/** Methods about the chain itself: slots, hashes, time, fees. */
import { FormatError } from '../../../formats/format-error.ts';
import { parseMessage } from '../../../formats/solana/message.ts';
import { rentExemptMinimum } from '../../../formats/solana/programs.ts';
import { feeOf } from '../runtime/execute.ts';
import { maxAccountData } from '../runtime/invocation.ts';
import { blockhashLife } from '../slots.ts';
import { invalidParams } from './errors.ts';
import { checkContext, ledgerVersion, type Methods, withContext } from './method.ts';
import { addressList, integerParam, optionsParam, textParam } from './params.ts';

const slotsInEpoch = 432_000;
const feesShown = 20;

export const chainMethods: Methods = {
  getHealth: () => 'ok',
  getVersion: () => ({ 'solana-core': ledgerVersion, 'feature-set': 0 }),
  getGenesisHash: ({ ledger }) => ledger.slots.genesisHash,
  getSlot: (context, params) => {
    checkContext(context, optionsParam(params, 0));
    return context.ledger.slots.now().slot;
  },
  getBlockHeight: (context, params) => {
    checkContext(context, optionsParam(params, 0));
    return context.ledger.slots.now().slot;
  },
  getFirstAvailableBlock: () => 0,
  getTransactionCount: ({ ledger }) => ledger.transactionCount,
  getBlockTime: ({ ledger }, params) => {
    const slot = integerParam(params, 0);
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
  getLatestBlockhash: (context, params) => {
    checkContext(context, optionsParam(params, 0));
    const { slot } = context.ledger.slots.now();
    return withContext(context, {
      blockhash: context.ledger.slots.blockhash(slot),
      lastValidBlockHeight: slot + blockhashLife,
    });
  },
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
    const text = textParam(params, 0, 'a message');
    const bytes = Buffer.from(text, 'base64');
    let message: ReturnType<typeof parseMessage>;
    try {
      message = parseMessage(bytes);
    } catch (error) {
      if (error instanceof FormatError)
        throw invalidParams(`failed to deserialize message: ${error.message}`);
      throw error;
    }
    const { slots } = context.ledger;
    const alive = slots.isAlive(message.blockhash, slots.now());
    return withContext(context, alive ? (feeOf(message) ?? null) : null);
  },
  getMinimumBalanceForRentExemption: (_context, params) =>
    rentExemptMinimum(integerParam(params, 0, maxAccountData)),
};
