/**
 * The history in ClickHouse: what an item costs on disk, how fast items are loaded, and whether a page costs what the page
 * costs, however many items there are. Two histories are filled by the mover's own encoder, a small one and a large one
 * (`BENCH_HISTORY_ITEMS`, ten million in the full run), and the same questions are asked of both. Beyond the first half
 * million the server itself copies what is there to other heights, which takes it less than making more here would.
 */
import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { migrations } from '../src/gateway/chain-index/migrations.ts';
import { DATA_ITEM, minedPos } from '../src/gateway/chain-index/order.ts';
import { packTerms } from '../src/gateway/chain-index/records.ts';
import { SqlGatewayIndex } from '../src/gateway/chain-index/sql-index.ts';
import { packTags } from '../src/gateway/chain-index/tags.ts';
import { bundleTerm, ownerTerm, type TermSpec, tagTerm } from '../src/gateway/chain-index/terms.ts';
import { digest, entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { GraphqlService } from '../src/gateway/graphql/execute.ts';
import { ClickHouse } from '../src/gateway/history/clickhouse.ts';
import { ClickHouseHistory } from '../src/gateway/history/clickhouse-history.ts';
import { encodeBatch, type MovableItem } from '../src/gateway/history/item-rows.ts';
import { columnNames, createStatements, tableNames, tableOf } from '../src/gateway/history/tables.ts';
import { createLogger } from '../src/kernel/log.ts';
import { insertRows } from '../src/storage/sql/many-rows.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import type { Sql } from '../src/storage/sql/sql.ts';
import {
  type ClickHouseServer,
  clickHouseMissing,
  startClickHouse,
} from '../test/support/servers/clickhouse.ts';
import type { Bench, Measurement } from './bench.ts';

const log = createLogger({ name: 'bench', level: 'silent', format: 'json' });
const small = 100_000;
const large = Number(process.env.BENCH_HISTORY_ITEMS ?? 1_000_000);
const perBundle = 1_000;
const batchItems = 65_536;
const encoded = 500_000;
const rounds = 40;

const apps = Array.from({ length: 20 }, (_, n) => `App-${n}`);
const kinds = Array.from({ length: 200 }, (_, n) => `kind ${n}`);
const types = ['image/png', 'text/html', 'application/json', 'text/plain'];
const owners = Array.from({ length: 1_000 }, (_, n) => Buffer.from(`owner ${n}`));
/** Of terms that are in few items: too many to be asked for here, so they are not in SQL. */
const firstRareTerm = 10_000_000;
const itemsPerRareTerm = 10;

interface Filled {
  readonly service: GraphqlService;
  readonly items: number;
  readonly bytesPerItem: number;
  readonly itemsPerSecond: number;
  /** Seconds: of this process, which encodes, and of the server with its merges. */
  readonly ownCpu: number;
  readonly serverCpu: number;
}

async function fill(sql: Sql, server: ClickHouseServer, items: number): Promise<Filled> {
  const name = `history_${items}`;
  await server.ask(`CREATE DATABASE ${name}`);
  const clickhouse = new ClickHouse({ url: `${server.url}/${name}`, password: undefined, timeoutMs: 30_000 });
  for (const statement of createStatements(await clickhouse.version(), noPlacement)) {
    await clickhouse.run(statement);
  }
  const history = new ClickHouseHistory({ sql, server: clickhouse, cluster: undefined });
  const index = new SqlGatewayIndex(sql, undefined, undefined, history);
  const roots = await writeBundles(sql, index, Math.ceil(items / perBundle));
  const make = await itemMaker(index, roots);
  const made = Math.min(items, encoded);
  let seconds = 0;
  const cpuBefore = cpuSeconds(server);
  let ownCpu = 0;
  for (let from = 0; from < made; from += batchItems) {
    const some: MovableItem[] = [];
    for (let at = from; at < Math.min(made, from + batchItems); at += 1) some.push(make(at));
    some.sort((a, b) => a.pos - b.pos || a.id.compare(b.id));
    const [started, cpuStarted] = [performance.now(), process.cpuUsage()];
    const rows = encodeBatch(1_000 + from / batchItems, some);
    await Promise.all(
      tableNames.map((table) => clickhouse.insert(tableOf(table), columnNames(table), rows[table])),
    );
    seconds += (performance.now() - started) / 1_000;
    const { user, system } = process.cpuUsage(cpuStarted);
    ownCpu += (user + system) / 1e6;
  }
  await settled(server);
  const serverCpu = cpuSeconds(server) - cpuBefore;
  for (let copy = 1; copy * made < items; copy += 1) await copyHigher(clickhouse, copy, made);
  await sql.run(
    'UPDATE history_extent SET items = ?, first_pos = 0, last_pos = ?, first_ingested = 0, last_ingested = ?',
    items,
    minedPos(roots.length, 0, DATA_ITEM),
    items,
  );
  await settled(server);
  const bytes = await server.ask(
    `SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = '${name}'`,
  );
  await index.refresh();
  return {
    service: new GraphqlService(index, log),
    items,
    bytesPerItem: Number(bytes) / items,
    itemsPerSecond: made / seconds,
    ownCpu: ownCpu / made,
    serverCpu: serverCpu / made,
  };
}

/** The items that were made once more, above all others. */
async function copyHigher(clickhouse: ClickHouse, copy: number, made: number): Promise<void> {
  const moved: Readonly<Record<string, string>> = {
    batch: `toUInt32(batch + ${copy * 1_000})`,
    pos: `pos + ${copy * minedPos(made / perBundle, 0, 0)}`,
    record: `record + ${copy * made}`,
    indexed_at: `indexed_at + ${copy * Math.ceil(made / 200)}`,
  };
  for (const name of tableNames) {
    const columns = columnNames(name).map((column) => moved[column] ?? column);
    await clickhouse.run(
      `INSERT INTO ${tableOf(name)} SELECT ${columns.join(', ')} FROM ${tableOf(name)} WHERE batch < 2000`,
    );
  }
}

const noPlacement = { cluster: undefined, replicaPath: undefined };

/** Bundles and their blocks, which stay in SQL; answers their record keys. */
async function writeBundles(sql: Sql, index: SqlGatewayIndex, count: number): Promise<number[]> {
  const records: number[] = [];
  for (let from = 0; from < count; from += 128) {
    const heights = Array.from({ length: Math.min(128, count - from) }, (_, n) => from + n);
    const prepared = await index.writer.prepare(
      heights.map((height) => entry(header(`bundle ${height}`), { height, blockIndex: 0 })),
    );
    await sql.transaction(async (tx) => {
      const written = await index.writer.put(tx, prepared);
      const byId = new Map(written.map(({ id, record }) => [id.toString('hex'), record]));
      for (const height of heights) records.push(byId.get(digest(`bundle ${height}`).toString('hex')) ?? 0);
      await insertRows(
        tx,
        'blocks',
        ['height', 'id', 'previous', 'timestamp', 'tx_count', 'block_size', 'weave_size'],
        heights.map((height) => [height, digest(`block ${height}`), digest('before'), height, 1, '0', '0']),
      );
    });
  }
  await sql.run("INSERT INTO chain_state (name, value) VALUES ('stable_height', ?)", count);
  return records;
}

async function itemMaker(
  index: SqlGatewayIndex,
  roots: readonly number[],
): Promise<(at: number) => MovableItem> {
  const key = async (specs: readonly TermSpec[]) => {
    const keys = await index.terms.intern(specs);
    return specs.map((spec) => keys.get(spec) ?? 0);
  };
  const pair = (name: string) => (value: string) => tagTerm(Buffer.from(name), Buffer.from(value));
  const appTerms = await key(apps.map(pair('App-Name')));
  const kindTerms = await key(kinds.map(pair('Kind')));
  const typeTerms = await key(types.map(pair('Content-Type')));
  const ownerTerms = await key(owners.map((owner) => ownerTerm(hash('sha256', owner, 'buffer'), owner)));
  const bundleTerms = await key(roots.map((_, height) => bundleTerm(digest(`bundle ${height}`))));
  const signature = Buffer.alloc(0);
  const common = new Map<number, Buffer>();
  const tagsOf = (app: number, kind: number, type: number, rare: number): Buffer => {
    const known = common.get(kind * 4 + type);
    const first =
      known ??
      packTags(
        rawTags([
          ['App-Name', apps[app] ?? ''],
          ['Kind', kinds[kind] ?? ''],
          ['Content-Type', types[type] ?? ''],
        ]),
      );
    if (known === undefined) common.set(kind * 4 + type, first);
    return Buffer.concat([first, packTags(rawTags([['Unix-Time', String(1_700_000_000 + rare)]]))]);
  };
  return (at) => {
    const bundle = Math.floor(at / perBundle);
    const within = at % perBundle;
    const id = hash('sha256', `item ${at}`, 'buffer');
    // What an item has follows from its id, so that neighbours differ.
    const dice = id.readUInt32LE(28);
    const [app, kind, type, owner] = [dice % 20, dice % 200, (dice >> 8) & 3, (dice >>> 12) % 1_000];
    const rare = Math.floor(at / itemsPerRareTerm);
    const terms = [ownerTerms[owner], bundleTerms[bundle], appTerms[app], kindTerms[kind], typeTerms[type]];
    const dataSize = 500 + (dice % 9_000);
    return {
      record: roots.length + at + 1,
      ...{ id, kind: DATA_ITEM, height: bundle, block_index: 0, pos: minedPos(bundle, 0, DATA_ITEM) },
      ...{ indexed_at: Math.floor(at / 200), owner: ownerTerms[owner] ?? 0, format: 0, signature_type: 1 },
      ...{ target: null, anchor: null, quantity: '0', reward: '0', denomination: 0, data_size: dataSize },
      ...{ data_root: null, end_offset: null, root: roots[bundle] ?? 0, parent: roots[bundle] ?? 0 },
      tags: tagsOf(app, kind, type, rare),
      ...{ parent_offset: 0, item_offset: within * 6_000, data_offset: within * 6_000 + 1_100 },
      ...{ item_size: 1_100 + dataSize, signature },
      terms: packTerms([...terms.map((term) => term ?? 0), firstRareTerm + rare]),
    };
  };
}

/** Merges that follow the inserts are over. */
async function settled(server: ClickHouseServer): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    await pause(1_000);
    quiet = (await server.ask('SELECT count() FROM system.merges')) === '0' ? quiet + 1 : 0;
  }
}

/** Of the server since it began. */
function cpuSeconds(server: ClickHouseServer): number {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const page = `query($tags: [TagFilter!], $owners: [String!], $max: Int) {
  transactions(tags: $tags, owners: $owners, first: 100, block: { max: $max }) { pageInfo { hasNextPage }
  edges { cursor node { id recipient owner { address } data { size type } tags { name value } block { height }
  bundledIn { id } } } } }`;

const questions: Readonly<Record<string, (round: number) => object>> = {
  'page of 100 by a tag': (round) => ({ tags: [{ name: 'Kind', values: [kinds[round % 200]] }] }),
  'page of 100 by an owner': (round) => ({
    owners: [hash('sha256', owners[(round * 7) % 1_000] ?? Buffer.alloc(0), 'base64url')],
  }),
  'page of 100 by two tags': (round) => ({
    tags: [
      { name: 'App-Name', values: [apps[round % 20]] },
      { name: 'Content-Type', values: [types[round % 4]] },
    ],
  }),
};

/** Median milliseconds, and CPU seconds of both sides, of a page that begins anywhere. */
async function ask(filled: Filled, server: ClickHouseServer, question: (round: number) => object) {
  const times: number[] = [];
  let found = 0;
  const before = cpuSeconds(server);
  const own = process.cpuUsage();
  for (let round = 0; round < rounds; round += 1) {
    const highest = filled.items / perBundle;
    const max = Math.floor(highest * (0.5 + (round / rounds) * 0.5));
    const started = performance.now();
    const { body } = await filled.service.answer({
      query: page,
      variables: { ...question(round), max },
      operationName: undefined,
    });
    times.push(performance.now() - started);
    found += JSON.parse(body).data.transactions.edges.length;
  }
  const { user, system } = process.cpuUsage(own);
  times.sort((a, b) => a - b);
  return {
    ms: times[rounds / 2] ?? 0,
    cpuMs: (1_000 * (cpuSeconds(server) - before) + (user + system) / 1_000) / rounds,
    rows: found / rounds,
  };
}

async function run(): Promise<Measurement[]> {
  const missing = clickHouseMissing();
  if (missing !== undefined) throw new Error(missing);
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-history-'));
  const server = await startClickHouse();
  try {
    const filled: Filled[] = [];
    for (const items of [small, large]) {
      const sql = await openDatabase({
        databaseUrl: undefined,
        dataDir: folder,
        name: `history_${items}`,
        migrations,
      });
      filled.push(await fill(sql, server, items));
    }
    const [few, many] = filled as [Filled, Filled];
    // Others share the machine: the time that the work takes by itself counts.
    const cores = availableParallelism();
    const loaded = cores / (many.ownCpu + many.serverCpu);
    const micros = (seconds: number) => (seconds * 1e6).toFixed(1);
    const measured: Measurement[] = [
      {
        name: `disk per item with four tags, ${many.items.toLocaleString('en')} items`,
        value: many.bytesPerItem,
        unit: 'bytes',
        yardstick: '150 bytes',
        ratio: 150 / many.bytesPerItem,
        bar: 1,
        note: 'without signatures, which do not compress',
      },
      {
        name: `loading, on all of ${cores} cores`,
        value: loaded,
        unit: 'items/s',
        yardstick: '100,000 items/s',
        ratio: loaded / 100_000,
        bar: 1,
        note: `by CPU time: ${micros(many.ownCpu)} µs here and ${micros(many.serverCpu)} µs of the server an item, merges included; ${Math.round(many.itemsPerSecond)} items/s by the clock`,
      },
    ];
    for (const [name, question] of Object.entries(questions)) {
      const little = await ask(few, server, question);
      const much = await ask(many, server, question);
      measured.push({
        name,
        value: much.cpuMs,
        unit: 'ms',
        yardstick: `three times that of ${few.items.toLocaleString('en')} items`,
        ratio: (3 * little.cpuMs) / much.cpuMs,
        bar: 1,
        note: `CPU, of both sides: ${little.cpuMs.toFixed(1)} ms there; ${little.ms.toFixed(1)} and ${much.ms.toFixed(1)} ms by the clock; ${little.rows} and ${much.rows} rows`,
      });
    }
    return measured;
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export const benches: Bench[] = [{ name: 'gateway/history', run }];
