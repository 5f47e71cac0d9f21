/**
 * GraphQL over the index: does the cost of a page follow the page and not the number of items? The index is
 * built twice, small and large (`BENCH_ITEMS`, one million in the full run), and the same questions are asked.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { insertBlock } from '../src/gateway/chain-index/blocks.ts';
import { migrations } from '../src/gateway/chain-index/migrations.ts';
import { DATA_ITEM } from '../src/gateway/chain-index/order.ts';
import { WRITE_BATCH } from '../src/gateway/chain-index/posting-changes.ts';
import { SqlGatewayIndex } from '../src/gateway/chain-index/sql-index.ts';
import { digest, entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { GraphqlService } from '../src/gateway/graphql/execute.ts';
import { createSchema } from '../src/gateway/graphql/schema.ts';
import { createLogger } from '../src/kernel/log.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import { preparePostgres } from '../test/support/postgres-server.ts';
import type { Bench, Measurement } from './bench.ts';
import { compareServers } from './load.ts';

const log = createLogger({ name: 'bench', level: 'silent', format: 'json' });
const small = 10_000;
const large = Number(process.env.BENCH_ITEMS ?? 100_000);
const perBundle = 1_000;

const page = `query($tags: [TagFilter!], $ids: [ID!]) { transactions(tags: $tags, ids: $ids, first: 100) {
  pageInfo { hasNextPage } edges { cursor node { id anchor recipient owner { address } fee { winston ar }
  quantity { winston ar } data { size type } tags { name value } block { id timestamp height previous }
  bundledIn { id } } } } }`;

interface Built {
  readonly index: SqlGatewayIndex;
  readonly service: GraphqlService;
  readonly seconds: number;
}

type Database = Pick<Parameters<typeof openDatabase>[0], 'databaseUrl' | 'dataDir'>;

async function build(database: Database, items: number): Promise<Built> {
  const sql = await openDatabase({ ...database, name: `index_${items}`, migrations, byIndexOnly: true });
  const index = new SqlGatewayIndex(sql);
  const started = performance.now();
  for (let from = 0, height = 0; from < items; from += perBundle, height += 1) {
    const root = `bundle ${height}`;
    const mined = { height, blockIndex: 0 };
    const [prepared] = await index.writer.prepare([entry(header(root), mined)]);
    const record = await sql.transaction(async (tx) => {
      await insertBlock(tx, {
        height,
        id: Buffer.concat([digest(`block ${height}`), Buffer.alloc(16)]),
        previous: Buffer.concat([digest(`block ${height - 1}`), Buffer.alloc(16)]),
        timestamp: height,
        txCount: 1,
        blockSize: '0',
        weaveSize: '0',
        json: Buffer.from('{}'),
      });
      const [written] = prepared === undefined ? [] : await index.writer.put(tx, [prepared]);
      return written?.record ?? 0;
    });
    for (let at = from; at < Math.min(items, from + perBundle); at += WRITE_BATCH) {
      const entries = Array.from({ length: Math.min(WRITE_BATCH, from + perBundle - at) }, (_, offset) => {
        const number = at + offset;
        return entry(
          header(`item ${number}`, {
            kind: DATA_ITEM,
            ownerKey: Buffer.from(`owner ${number % 97}`),
            dataSize: 1_000,
            tags: rawTags([
              ['Content-Type', number % 2 === 0 ? 'text/plain' : 'image/png'],
              ['App-Name', `app-${number % 10}`],
              ['Rare', number % Math.floor(items / 200) === 0 ? 'yes' : 'no'],
              ['Unix-Time', String(number)],
            ]),
          }),
          mined,
          {
            bundle: digest(root),
            placed: {
              root: record,
              parent: record,
              parentOffset: 0,
              itemOffset: 0,
              dataOffset: 0,
              itemSize: 0,
            },
          },
        );
      });
      const batch = await index.writer.prepare(entries);
      await sql.transaction((tx) => index.writer.put(tx, batch));
    }
  }
  const seconds = (performance.now() - started) / 1000;
  await sql.run(
    "INSERT INTO chain_state (name, value) VALUES ('stable_height', ?)",
    Math.ceil(items / perBundle),
  );
  await index.refresh();
  return { index, service: new GraphqlService(index, log), seconds };
}

/** Milliseconds of one run, the best of several rounds. */
async function time(work: () => Promise<unknown>, rounds = 5, runs = 60): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    for (let run = 0; run < runs; run += 1) await work();
    best = Math.min(best, (performance.now() - started) / runs);
  }
  return best;
}

const questions = {
  rare: [{ name: 'Rare', values: ['yes'] }],
  common: [{ name: 'Content-Type', values: ['text/plain'] }],
  intersecting: [
    { name: 'Content-Type', values: ['image/png'] },
    { name: 'App-Name', values: ['app-3'] },
  ],
  'rarely meeting': [
    { name: 'Rare', values: ['yes'] },
    { name: 'App-Name', values: ['app-0'] },
  ],
};

/** Each is common and there is no item with both: all of the rarer one is looked through. */
const neverMeeting = [
  { name: 'Content-Type', values: ['text/plain'] },
  { name: 'App-Name', values: ['app-3'] },
];

async function runPages(engine: 'sqlite' | 'postgres'): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  const server = engine === 'postgres' ? await preparePostgres() : undefined;
  const database = { databaseUrl: server?.url, dataDir: folder };
  const measured: Measurement[] = [];
  try {
    const few = await build(database, small);
    const many = await build(database, large);
    measured.push({
      name: `items indexed (of ${large})`,
      value: large / many.seconds,
      unit: 'items/s',
      yardstick: `${small} items`,
      ratio: large / many.seconds / (small / few.seconds),
    });
    for (const [name, tags] of Object.entries(questions)) {
      const ask = (built: Built) => () =>
        built.service.answer({ query: page, variables: { tags }, operationName: undefined });
      const inMemory = await rowsInMemory(many, tags);
      const { short, long, bare } = await alternate({ short: ask(few), long: ask(many), bare: inMemory });
      measured.push(
        {
          name: `${name} tag, first: 100, of ${large}`,
          value: long,
          unit: 'ms',
          yardstick: `of ${small}: ${short.toFixed(2)} ms`,
          ratio: short / long,
          bar: 1 / 1.5,
        },
        {
          name: `${name} tag, first: 100, of ${large}`,
          value: long,
          unit: 'ms',
          yardstick: `rows already in memory: ${bare.toFixed(2)} ms`,
          ratio: bare / long,
          // Another process, however near, is further than memory.
          ...(engine === 'sqlite' ? { bar: 0.4 } : {}),
        },
      );
    }
    const never = await time(
      () => many.service.answer({ query: page, variables: { tags: neverMeeting }, operationName: undefined }),
      3,
      2,
    );
    measured.push({
      name: `tags that never meet, of ${large}`,
      value: never,
      unit: 'ms',
      yardstick: `1 µs for each item of the rarer tag, which has ${large / 10}`,
      ratio: large / 10 / 1_000 / never,
    });
    await few.index.sql.close();
    await many.index.sql.close();
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return measured;
}

/** The same query, compiled the same way, over nodes that are built already. */
async function rowsInMemory(built: Built, tags: object): Promise<() => Promise<string>> {
  const answer = await built.service.answer({ query: page, variables: { tags }, operationName: undefined });
  const connection = JSON.parse(answer.body).data.transactions;
  const schema = createSchema({ 'Query.transactions': async () => connection });
  const compiled = compileQuery(schema, parse(page), undefined, {
    customJSONSerializer: true,
    disableLeafSerialization: true,
  });
  if (!isCompiledQuery(compiled)) throw new Error('the query does not compile');
  return async () => compiled.stringify(await compiled.query({}, {}, { tags }));
}

/** The best time of each, taken in turns. */
async function alternate<K extends string>(
  works: Readonly<Record<K, () => Promise<unknown>>>,
): Promise<Record<K, number>> {
  const best: Record<string, number> = {};
  for (let round = 0; round < 6; round += 1) {
    for (const [name, work] of Object.entries<() => Promise<unknown>>(works)) {
      best[name] = Math.min(best[name] ?? Number.POSITIVE_INFINITY, await time(work, 1, 40));
    }
  }
  return best as Record<K, number>;
}

/** Through HTTP: one transaction by id, beside the smallest JSON route of the same server. */
async function runById(): Promise<Measurement[]> {
  const script = new URL('./gateway-index.server.ts', import.meta.url);
  const yardstick = { script, path: '/tiny' };
  const load = { path: '/tiny', seconds: 2 };
  const query =
    'query($id: ID!) { transaction(id: $id) { id owner { address } tags { name value } block { height } data { size } } }';
  const byId = await compareServers({
    candidate: {
      script,
      path: '/graphql',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: { id: digest('one').toString('base64url') } }),
    },
    yardstick,
    load,
  });
  const info = await compareServers({ candidate: { script, path: '/gw/info' }, yardstick, load });
  return [
    {
      name: 'GraphQL by id',
      value: byId.candidate.requestsPerSecond,
      unit: 'req/s',
      yardstick: 'tiny JSON route',
      ratio: byId.ratio,
      bar: 0.35,
    },
    {
      name: 'gateway info',
      value: info.candidate.requestsPerSecond,
      unit: 'req/s',
      yardstick: 'tiny JSON route',
      ratio: info.ratio,
      bar: 0.6,
    },
  ];
}

export const benches: Bench[] = [
  { name: 'gateway-index/graphql', run: () => runPages('sqlite') },
  { name: 'gateway-index/postgres', run: () => runPages('postgres') },
  { name: 'gateway-index/http', run: runById },
];
