import { integer, url } from '../kinds.ts';

/** Another network that the local one reads what it does not have from; nothing is written there. */
export const fork = {
  FORK_GATEWAY_URL: url({
    meaning:
      'Gateway or Arweave node that the local network reads transactions and content from by id, where it does not have them; only in the world `local`',
    default: undefined,
  }),
  FORK_GRAPHQL_URL: url({
    meaning:
      'GraphQL of the network that FORK_GATEWAY_URL is of, with its path; without it `/graphql` of FORK_GATEWAY_URL',
    default: undefined,
  }),
  FORK_SOLANA_RPC_URL: url({
    meaning:
      'Solana node that the local ledger takes accounts from which it does not have, names among them; from then on they are its own. Only in the world `local`',
    default: undefined,
  }),
  FORK_HEIGHT: integer({
    meaning:
      'Transactions of FORK_GATEWAY_URL that were mined above this height are not shown; without it all are',
    default: undefined,
  }),
  FORK_CACHE_MAX_BYTES: integer({
    meaning: 'Disk that may be used for what was read from the fork, in DATA_DIR/fork-cache',
    default: 2 * 1024 ** 3,
    min: 1024 * 1024,
  }),
};
