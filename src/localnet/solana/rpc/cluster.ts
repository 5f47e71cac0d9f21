/** Methods about the cluster. It has one node, which leads every slot; nobody votes and nobody is rewarded. */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { lamportsPerSol } from '../../../formats/solana/programs.ts';
import { slotsInEpoch } from '../slots.ts';
import {
  addressList,
  booleanOption,
  choiceOption,
  inContext,
  invalidParams,
  ledgerVersion,
  type Method,
  type Methods,
  type Options,
  type RpcContext,
  RpcError,
  rpcCode,
  toAddress,
  toInteger,
  toOptions,
} from './method.ts';

const maxLeaders = 5_000;
const largestShown = 20;

const currentSlot: Method = ({ ledger }) => ledger.slots.now().slot;
const epochOf = (slot: number): number => Math.floor(slot / slotsInEpoch);

export const clusterMethods: Methods = {
  getIdentity: ({ identity }) => ({ identity }),
  getSlotLeader: ({ identity }) => identity,
  getSlotLeaders: ({ identity }, params) => {
    toInteger(params[0]);
    const limit = toInteger(params[1]);
    if (limit < 1 || limit > maxLeaders) throw invalidParams(`Invalid limit; max ${maxLeaders}`);
    return new Array<SolanaAddress>(limit).fill(identity);
  },
  getLeaderSchedule: ({ ledger, identity }, params) => {
    // The slot may be left out, and then the options come first.
    const hasSlot = params[0] === null || typeof params[0] === 'number';
    const slot = params[0] == null || !hasSlot ? ledger.slots.now().slot : toInteger(params[0]);
    const options = toOptions(hasSlot ? params[1] : params[0]);
    if (epochOf(slot) > epochOf(ledger.slots.now().slot) + 1) return null;
    if (options.identity != null && toAddress(options.identity) !== identity) return {};
    return { [identity]: Array.from({ length: slotsInEpoch }, (_, index) => index) };
  },
  getBlockProduction: inContext(0, ({ ledger, identity }, _params, options) => {
    const now = ledger.slots.now().slot;
    const asked = toOptions(options.range);
    const firstSlot = asked.firstSlot == null ? epochOf(now) * slotsInEpoch : toInteger(asked.firstSlot);
    const lastSlot = asked.lastSlot == null ? now : toInteger(asked.lastSlot);
    if (lastSlot < firstSlot || lastSlot > now) throw invalidParams('lastSlot is out of range');
    const count = lastSlot - firstSlot + 1;
    const isOther = options.identity != null && toAddress(options.identity) !== identity;
    return { byIdentity: isOther ? {} : { [identity]: [count, count] }, range: { firstSlot, lastSlot } };
  }),
  getVoteAccounts: (_context, params) => {
    const options = toOptions(params[0]);
    if (options.votePubkey != null) toAddress(options.votePubkey);
    return { current: [], delinquent: [] };
  },
  getClusterNodes: ({ identity, address }) => [
    {
      pubkey: identity,
      gossip: null,
      tpu: null,
      tpuQuic: null,
      rpc: address(),
      pubsub: address(),
      version: ledgerVersion,
      featureSet: 0,
      shredVersion: 0,
    },
  ],
  getInflationGovernor: () => ({ initial: 0, terminal: 0, taper: 0, foundation: 0, foundationTerm: 0 }),
  getInflationRate: ({ ledger }) => ({
    total: 0,
    validator: 0,
    foundation: 0,
    epoch: epochOf(ledger.slots.now().slot),
  }),
  getInflationReward: (_context, params) => addressList(params[0] ?? [], 1_000).map(() => null),
  getStakeMinimumDelegation: inContext(0, () => lamportsPerSol),
  getMaxRetransmitSlot: currentSlot,
  getMaxShredInsertSlot: currentSlot,
  minimumLedgerSlot: () => 0,
  getHighestSnapshotSlot: () => {
    throw new RpcError(rpcCode.noSnapshot, 'No snapshot');
  },

  getSupply: inContext(0, (context, _params, options) => {
    let total = 0n;
    for (const [, { lamports }] of context.ledger.accounts.entries()) total += lamports;
    const nonCirculating = context.ledger.accounts.get(context.faucet).lamports;
    const isListed = !booleanOption(options, 'excludeNonCirculatingAccountsList');
    return {
      total,
      circulating: total - nonCirculating,
      nonCirculating,
      nonCirculatingAccounts: isListed ? [context.faucet] : [],
    };
  }),
  getLargestAccounts: inContext(0, (context, _params, options) => largestAccounts(context, options)),
};

/** What the faucet still has is not in anybody's hands. */
function largestAccounts({ ledger, faucet }: RpcContext, options: Options): object[] {
  const filter = choiceOption(options, 'filter', 'all', ['all', 'circulating', 'nonCirculating']);
  const isAsked = (address: SolanaAddress) =>
    filter === 'all' || (address === faucet) === (filter === 'nonCirculating');
  const all = [...ledger.accounts.entries()].filter(([address]) => isAsked(address));
  return all
    .sort(([, a], [, b]) => (a.lamports < b.lamports ? 1 : a.lamports > b.lamports ? -1 : 0))
    .slice(0, largestShown)
    .map(([address, { lamports }]) => ({ address, lamports }));
}
