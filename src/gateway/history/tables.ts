/**
 * The tables of the history, and the statements that make them.
 *
 * `records` holds the items in order of their position, `postings` the terms of each, `ids` where an id is, and
 * `ingested` at which positions something was indexed in a second. An item is named by its position and the first 48
 * bits of its id (`tie`), which no two items of the history share: the mover leaves a second one in SQL.
 *
 * What is only shown of an item is one column (`item`, see `item-rows.ts`): a page reads rows that lie far apart, and of
 * each column the server unpacks a block of 64 KiB for every one of them.
 *
 * A batch may be written twice after a crash, so rows of equal key are one (`ReplacingMergeTree`, and whoever reads drops
 * repetitions). Everything is one partition whose expression names `batch`: the server then knows for each part which
 * batches are in it, and reads a batch back without looking at the rest.
 */

export type TableName = 'records' | 'postings' | 'ids' | 'ingested';

interface Column {
  readonly name: string;
  readonly type: string;
  /** On servers that have codecs for each column. */
  readonly codec: string;
}

interface Table {
  readonly columns: readonly Column[];
  readonly order: readonly string[];
  /** Which column decides about the shard. */
  readonly shardBy: string;
  readonly granularity: number;
}

const growing = 'Delta, ZSTD(1)';
const plain = 'ZSTD(1)';
const column = (name: string, type: string, codec = plain): Column => ({ name, type, codec });

const batch = column('batch', 'UInt32');
const pos = column('pos', 'UInt64', growing);
const tie = column('tie', 'FixedString(6)', 'NONE');

export const tables: Readonly<Record<TableName, Table>> = {
  records: {
    columns: [
      batch,
      pos,
      tie,
      column('record', 'UInt64', growing),
      column('indexed_at', 'UInt64', growing),
      column('item', 'String'),
      column('signature', 'String', 'NONE'),
    ],
    order: ['pos', 'tie'],
    shardBy: 'tie',
    granularity: 256,
  },
  postings: {
    columns: [batch, column('term', 'UInt64', growing), pos, tie],
    order: ['term', 'pos', 'tie'],
    shardBy: 'term',
    granularity: 8_192,
  },
  ids: { columns: [batch, tie, pos], order: ['tie', 'pos'], shardBy: 'tie', granularity: 1_024 },
  ingested: {
    columns: [batch, column('indexed_at', 'UInt64', growing), pos, column('items', 'UInt64')],
    order: ['indexed_at', 'pos', 'batch'],
    shardBy: 'pos',
    granularity: 1_024,
  },
};

/** The order in which a batch is written: who finds a posting finds its record. */
export const tableNames: readonly TableName[] = ['records', 'ids', 'ingested', 'postings'];

/** As the server knows it. */
export const tableOf = (name: TableName): string => `turnpike_${name}`;

export const columnNames = (name: TableName): string[] => tables[name].columns.map((one) => one.name);

export interface Placement {
  /** A cluster of the server's configuration: each table is spread over its shards. */
  readonly cluster: string | undefined;
  /** A path in ZooKeeper or Keeper: each shard is kept by all its replicas. */
  readonly replicaPath: string | undefined;
}

/** Which database the history belongs to. */
export const ownerTable = 'turnpike_owner';

const firstWithCodecs = 20_003;
/** One partition until the year 2038, another one after it. */
const partition = 'intDiv(batch, 1073741824)';

/** The statements that make what is not there, for a server of this version; of a cluster, for each of its servers. */
export function createStatements(version: number, { cluster, replicaPath }: Placement): string[] {
  const owner = `CREATE TABLE IF NOT EXISTS ${ownerTable} (\n  name String\n) ENGINE = MergeTree() ORDER BY name`;
  const others = tableNames.flatMap((name) => {
    const { columns, order, shardBy, granularity } = tables[name];
    const local = cluster === undefined ? tableOf(name) : `${tableOf(name)}_local`;
    const engine =
      replicaPath === undefined
        ? 'ReplacingMergeTree()'
        : `ReplicatedReplacingMergeTree('${replicaPath}/{shard}/${tableOf(name)}', '{replica}')`;
    const list = columns
      .map((one) => `  ${one.name} ${one.type}${version >= firstWithCodecs ? ` CODEC(${one.codec})` : ''}`)
      .join(',\n');
    const made = `CREATE TABLE IF NOT EXISTS ${local} (\n${list}\n) ENGINE = ${engine}
PARTITION BY ${partition} ORDER BY (${order.join(', ')}) SETTINGS index_granularity = ${granularity}`;
    if (cluster === undefined) return [made];
    return [
      made,
      `CREATE TABLE IF NOT EXISTS ${tableOf(name)} AS ${local}
ENGINE = Distributed(${cluster}, currentDatabase(), ${local}, cityHash64(${shardBy}))`,
    ];
  });
  return [owner, ...others];
}
