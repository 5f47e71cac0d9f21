import { boolean, integer, list, milliseconds, secret, text, url } from '../kinds.ts';

/** The gateway: what it follows, what it unbundles and indexes, how it shows itself. */
export const gateway = {
  START_HEIGHT: integer({ meaning: 'Height from which the gateway imports blocks', default: 0 }),
  STOP_HEIGHT: integer({
    meaning: 'Height after which the gateway imports no more blocks; without it, it follows the chain',
    default: undefined,
  }),
  START_WRITERS: boolean({
    meaning: 'Whether this gateway process imports and unbundles; false = it only answers',
    default: true,
  }),
  GATEWAY_POLL_INTERVAL_MS: milliseconds({
    meaning: 'How often the gateway asks its nodes for a new block; 0 = 250 for nodes on loopback, else 5000',
    default: 0,
  }),
  GATEWAY_NODE_TIMEOUT_MS: milliseconds({
    meaning: 'How long a node may take to answer',
    default: 15_000,
    min: 1,
  }),
  GATEWAY_NODE_REQUESTS_PER_SECOND: integer({
    meaning: 'Requests per second to one node that is not on loopback',
    default: 50,
    min: 1,
  }),
  GATEWAY_MAX_FORK_DEPTH: integer({
    meaning: 'Blocks that the importer may take back by itself; deeper forks wait for an operator',
    default: 18,
    min: 1,
    max: 50,
  }),
  GATEWAY_PENDING_TTL_SECONDS: integer({
    meaning: 'Transactions and items that are not mined are forgotten so long after they were first seen',
    default: 86_400,
    min: 60,
  }),
  ENABLE_MEMPOOL_WATCHER: boolean({
    meaning: "Whether the nodes' pending transactions are indexed before they are mined",
    default: true,
  }),
  MEMPOOL_POLLING_INTERVAL_MS: milliseconds({
    meaning: 'How often pending transactions are looked for',
    default: 5_000,
    min: 100,
  }),
  ANS104_UNBUNDLE_FILTER: text({
    meaning: 'Filter (JSON) of the bundles that are unbundled',
    default: '{"always":true}',
  }),
  ANS104_INDEX_FILTER: text({
    meaning: 'Filter (JSON) of the data items in them that are indexed',
    default: '{"always":true}',
  }),
  ANS104_UNBUNDLE_WORKERS: integer({
    meaning: 'Bundles that are read at the same time',
    default: 2,
    min: 1,
    max: 64,
  }),
  ANS104_MAX_NESTING: integer({
    meaning: 'Bundles in bundles are read to this depth',
    default: 10,
    min: 1,
    max: 32,
  }),
  GATEWAY_WALLET: text({
    meaning: "Address of the gateway operator's wallet, shown by /gw/info",
    default: '',
  }),
  GATEWAY_PROCESS_ID: text({ meaning: 'Id of the registry that the gateway belongs to', default: '' }),
  GW_ALIAS_PREFIXES: list({
    meaning: 'First path segments under which the routes of /gw also answer',
    default: ['ar-io'],
  }),
  INDEX_HISTORY_URL: url({
    meaning:
      'ClickHouse database that stable data items are moved to, as http://user@host:8123/database; without it everything stays in the SQL database',
    default: undefined,
  }),
  INDEX_HISTORY_PASSWORD: secret({ meaning: 'Password for INDEX_HISTORY_URL' }),
  INDEX_HISTORY_CLUSTER: text({
    meaning:
      "Cluster of ClickHouse's configuration over whose shards the history is spread; empty = one server",
    default: '',
  }),
  INDEX_HISTORY_REPLICA_PATH: text({
    meaning:
      'Path in ZooKeeper or Keeper under which replicas of the history find each other; empty = not replicated',
    default: '',
  }),
  INDEX_HISTORY_AFTER_SECONDS: integer({
    meaning:
      'How long after it was indexed a data item stays in the SQL database before it is moved to the history',
    default: 86_400,
  }),
  INDEX_HISTORY_BATCH: integer({
    meaning: 'Data items that are moved to the history at once',
    default: 16_384,
    min: 128,
    max: 131_072,
  }),
  INDEX_HISTORY_TIMEOUT_MS: milliseconds({
    meaning: 'How long the history may take to answer a question',
    default: 10_000,
    min: 100,
  }),
  HEALTHCHECK_STRICT: boolean({
    meaning:
      'Whether a gateway, payment or upload service that is unhealthy answers its health check with 503 instead of 200',
    default: false,
  }),
  HEALTHCHECK_MIN_FREE_BYTES: integer({
    meaning: 'The gateway is unhealthy when the disk of DATA_DIR has less than this left',
    default: 256 * 1024 * 1024,
  }),
  MAX_EXPECTED_DATA_ITEM_INDEXING_INTERVAL_SECONDS: integer({
    meaning: 'The gateway is unhealthy when no data item was indexed for so long',
    default: undefined,
  }),
};
