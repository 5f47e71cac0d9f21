/** Methods about blocks. Every slot of the clock is a block; most hold nothing. */
import { setTimeout as delay } from 'node:timers/promises';
import { systemProgram } from '../../../formats/solana/programs.ts';
import type { Ledger } from '../ledger.ts';
import { slotMs } from '../slots.ts';
import type { StoredTransaction } from '../store.ts';
import {
  booleanOption,
  choiceOption,
  invalidParams,
  type Methods,
  type Options,
  RpcError,
  rpcCode,
  toInteger,
  toOptions,
} from './method.ts';
import {
  type TransactionView,
  transactionAccountsJson,
  transactionJson,
  transactionOptions,
  transactionView,
} from './transaction-json.ts';

/** Slots that one call may list, as public nodes have it. */
const maxRange = 500_000;
const maxSamples = 720;
/** A sample is a minute. */
const slotsInSample = 150;

type Details = 'full' | 'accounts' | 'signatures' | 'none';

export const blockMethods: Methods = {
  getBlock: async ({ ledger }, params) => {
    const slot = toInteger(params[0]);
    const options = transactionOptions(params[1]);
    requireConfirmed(options);
    const view = transactionView(options);
    const details = choiceOption<Details>(options, 'transactionDetails', 'full', [
      'full',
      'accounts',
      'signatures',
      'none',
    ]);
    const withRewards = options.rewards == null || booleanOption(options, 'rewards');
    const { slots } = ledger;
    if (slot > slots.now().slot) {
      throw new RpcError(rpcCode.blockNotAvailable, `Block not available for slot ${slot}`);
    }
    await whenComplete(ledger, slot);
    const entries = details === 'none' ? [] : await ledger.inSlot(slot);
    return {
      previousBlockhash: slot === 0 ? systemProgram : slots.blockhash(slot - 1),
      blockhash: slots.blockhash(slot),
      parentSlot: Math.max(0, slot - 1),
      ...transactionsJson(entries, details, view),
      ...(withRewards && { rewards: [] }),
      blockTime: slots.timeOf(slot),
      blockHeight: slot,
    };
  },

  getBlocks: ({ ledger }, params) => {
    const first = toInteger(params[0]);
    const hasEnd = typeof params[1] === 'number';
    requireConfirmed(toOptions(hasEnd || params[1] == null ? params[2] : params[1]));
    const now = ledger.slots.now().slot;
    const last = Math.min(now, hasEnd ? toInteger(params[1]) : first + maxRange);
    if (last - first > maxRange) throw invalidParams(`Slot range too large; max ${maxRange}`);
    return range(first, last);
  },

  getBlocksWithLimit: ({ ledger }, params) => {
    const first = toInteger(params[0]);
    const limit = toInteger(params[1]);
    requireConfirmed(toOptions(params[2]));
    if (limit > maxRange) throw invalidParams(`Limit too large; max ${maxRange}`);
    return range(first, Math.min(ledger.slots.now().slot, first + limit - 1));
  },

  // Nobody votes: every block is final at once, and of one that is final nodes tell no votes.
  getBlockCommitment: (_context, params) => {
    toInteger(params[0]);
    return { commitment: null, totalStake: 0 };
  },

  getRecentPerformanceSamples: async ({ ledger }, params) => {
    const limit = params[0] == null ? maxSamples : toInteger(params[0]);
    if (limit > maxSamples) throw invalidParams(`Invalid limit; max ${maxSamples}`);
    const now = ledger.slots.now().slot;
    const last = Math.floor(now / slotsInSample);
    const count = Math.min(limit, last);
    const counts = await ledger.countsSince((last - count) * slotsInSample, slotsInSample);
    return Array.from({ length: count }, (_, index) => {
      const sample = last - 1 - index;
      const numTransactions = counts.get(sample) ?? 0;
      return {
        slot: (sample + 1) * slotsInSample,
        numTransactions,
        numNonVoteTransactions: numTransactions,
        numSlots: slotsInSample,
        samplePeriodSecs: (slotsInSample * slotMs) / 1000,
      };
    });
  },
};

/** Nodes keep history only of what is confirmed. */
export function requireConfirmed(options: Options): void {
  if (options.commitment === 'processed') {
    throw invalidParams('Method does not support commitment below `confirmed`');
  }
}

/** Waits for the end of a slot that is running: a block that was answered never changes. */
async function whenComplete(ledger: Ledger, slot: number): Promise<void> {
  const { slots } = ledger;
  if (slots.now().slot === slot) await delay(slots.msLeft());
  await ledger.batchDone();
}

function transactionsJson(
  entries: readonly StoredTransaction[],
  details: Details,
  view: TransactionView,
): object {
  switch (details) {
    case 'full':
      return { transactions: entries.map((entry) => transactionJson(entry, view)) };
    case 'accounts':
      return { transactions: entries.map((entry) => transactionAccountsJson(entry, view)) };
    case 'signatures':
      return { signatures: entries.map(({ signature }) => signature) };
    case 'none':
      return {};
  }
}

function range(first: number, last: number): number[] {
  return last < first ? [] : Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
