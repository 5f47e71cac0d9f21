import { integer, milliseconds, oneOf, urls } from '../kinds.ts';

export const miningModes = ['demand', 'interval', 'transaction', 'none'] as const;
export type MiningMode = (typeof miningModes)[number];

/** The chain: which nodes the surfaces use, and how the local one behaves. */
export const arweave = {
  ARWEAVE_NODE_URLS: urls({
    meaning:
      'Arweave nodes, in order of preference; without it the local node is started and used, in the world `local`',
    default: [],
  }),
  LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: milliseconds({
    meaning: 'How often the local node mines when something is pending; 0 = only on GET /mine',
    default: 1_000,
  }),
  LOCAL_ARWEAVE_MINING: oneOf(miningModes, {
    meaning:
      'When the local node mines: `demand` = that interval after something is pending, `interval` = at every interval, `transaction` = each transaction at once, `none` = only when asked',
    default: 'demand',
  }),
  LOCAL_ARWEAVE_CONFIRM_BLOCKS: integer({
    meaning:
      'Empty blocks the local node mines after one with transactions, so that they get confirmed; 0 = none',
    default: 20,
    max: 1_000,
  }),
};
