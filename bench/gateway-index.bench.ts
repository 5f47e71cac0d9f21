/**
 * GraphQL over the index: does the cost of a page follow the page and not the number of items? The index is
 * built twice, small and large (`BENCH_ITEMS`, one million in the full run), and the same questions are asked, those too
 * that match nothing although each of their filters matches much.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { insertBlock } from '../src/gateway/chain-index/blocks.ts';
import { migrations } from '../src/gateway/chain-index/migrations.ts';
import { DATA_ITEM } from '../src/gateway/chain-index/order.ts';
import { WRITE_BATCH } from '../src/gateway/chain-index/posting-changes.ts';
import { SegmentBuilder } from '../src/gateway/chain-index/segment-builder.ts';
import { SqlGatewayIndex } from '../src/gateway/chain-index/sql-index.ts';
import { digest, entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { GraphqlService } from '../src/gateway/graphql/execute.ts';
import { createLogger } from '../src/kernel/log.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import { preparePostgres } from '../test/support/postgres-server.ts';
import type { Bench, Measurement } from './bench.ts';
import { compareServers, startServer } from './load.ts';

const log = createLogger({ name: 'bench', level: 'silent', format: 'json' });
const small = 10_000;
const large = Number(process.env.BENCH_ITEMS ?? 100_000);
const perBundle = 1_000;

const page = `query($tags: [TagFilter!], $owners: [String!], $block: BlockFilter, $sort: SortOrder) {
  transactions(tags: $tags, owners: $owners, block: $block, sort: $sort, first: 100) {
  pageInfo { hasNextPage } edges { cursor node { id anchor recipient owner { address } fee { winston ar }
  quantity { winston ar } data { size type } tags { name value } block { id timestamp height previous }
  bundledIn { id } } } } }`;

interface Built {
  readonly index: SqlGatewayIndex;
  readonly service: GraphqlService;
  readonly seconds: number;
  /** Of which segments were made. */
  readonly segmentSeconds: number;
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
            ownerKey: Buffer.from(`owner ${number % 96}`),
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
  const written = performance.now();
  const segments = new SegmentBuilder(sql);
  while (await segments.round());
  const seconds = (performance.now() - started) / 1000;
  const segmentSeconds = (performance.now() - written) / 1000;
  await sql.run(
    "INSERT INTO chain_state (name, value) VALUES ('stable_height', ?)",
    Math.ceil(items / perBundle),
  );
  await index.refresh();
  return { index, service: new GraphqlService(index, log), seconds, segmentSeconds };
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

const even = { name: 'Content-Type', values: ['text/plain'] };
const odd = { name: 'App-Name', values: ['app-3'] };
const evenApps = ['app-0', 'app-2', 'app-4', 'app-6', 'app-8'];

/** Filters that are common each, and that no item has together: even numbers and odd ones. */
const neverMeeting = {
  'two tags': { tags: [even, odd] },
  'three tags': { tags: [even, odd, { name: 'Rare', values: ['no'] }] },
  'a tag of many values': {
    tags: [even, { name: 'App-Name', values: ['app-1', 'app-3', 'app-5', 'app-7'] }],
  },
  'a tag and an owner': { tags: [even], owners: [digest('owner 5').toString('base64url')] },
  'a tag and others excluded': { tags: [even, { name: 'App-Name', values: evenApps, op: 'NEQ' }] },
  'two tags in a range of blocks': { tags: [even, odd], block: { min: 1, max: large } },
  'two tags, first block first': { tags: [even, odd], sort: 'HEIGHT_ASC' },
  'two tags by time of indexing': { tags: [even, odd], sort: 'INGESTED_AT_DESC' },
};
const neverMeetingMs = 10;

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
    measured.push(await segmentCost(many));
    for (const [name, tags] of Object.entries(questions)) {
      const inMemory = await jsonOf(many, { tags });
      const { short, long, bare } = await alternate({
        short: () => ask(few, { tags }),
        long: () => ask(many, { tags }),
        bare: inMemory,
      });
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
          yardstick: `JSON.stringify of the answer: ${bare.toFixed(2)} ms`,
          ratio: bare / long,
          // Another process, however near, is further than memory.
          ...(engine === 'sqlite' && name === 'common' ? { bar: 0.8 } : {}),
        },
      );
    }
    for (const [name, variables] of Object.entries(neverMeeting)) {
      const short = await time(() => ask(few, variables), 3, 5);
      const long = await time(() => ask(many, variables), 3, 5);
      measured.push({
        name: `${name} that never meet, of ${large}`,
        value: long,
        unit: 'ms',
        yardstick: `${neverMeetingMs} ms (of ${small}: ${short.toFixed(2)} ms)`,
        ratio: neverMeetingMs / long,
        bar: 1,
      });
    }
    await few.index.sql.close();
    await many.index.sql.close();
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return measured;
}

/** What segments cost beside everything else that is written of an item. */
async function segmentCost({ index, seconds, segmentSeconds }: Built): Promise<Measurement> {
  const row = await index.sql.get<{ bytes: number }>(
    'SELECT CAST(sum(length(packed)) AS BIGINT) AS bytes FROM segment_parts',
  );
  return {
    name: 'segments',
    value: (row?.bytes ?? 0) / large,
    unit: 'bytes an item',
    yardstick: 'time to index an item, without and with them',
    ratio: (seconds - segmentSeconds) / seconds,
    bar: 0.9,
  };
}

/** The same answer made of a tree that is there already. */
async function jsonOf(built: Built, variables: object): Promise<() => Promise<Buffer>> {
  const tree: unknown = JSON.parse((await ask(built, variables)).toString('utf8'));
  return async () => Buffer.from(JSON.stringify(tree));
}

async function ask(built: Built, variables: object): Promise<Buffer> {
  const answer = await built.service.answer({
    query: page,
    variables: { ...variables },
    operationName: undefined,
  });
  return Buffer.from(answer.body);
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

/** Through HTTP: one transaction by id and a page of a hundred, beside bare node:http that answers as many bytes. */
async function runHttp(): Promise<Measurement[]> {
  const script = new URL('./gateway-index.server.ts', import.meta.url);
  const query =
    'query($id: ID!) { transaction(id: $id) { id owner { address } tags { name value } block { height } data { size } } }';
  const beside = async (name: string, request: object, connections: number, bar: number) => {
    const asked = {
      path: '/graphql',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    };
    const bytes = await answerBytes(script, asked);
    const { candidate, ratio } = await compareServers({
      candidate: { script },
      yardstick: { script, args: ['bare', String(bytes)] },
      // There is more code to compile than the bare server has.
      load: { ...asked, connections, seconds: 3, warmSeconds: 6 },
    });
    return {
      name,
      value: candidate.requestsPerCpuSecond,
      unit: 'req/cpu-s',
      yardstick: `bare node:http, ${bytes} bytes`,
      ratio,
      bar,
    };
  };
  const byId = { query, variables: { id: digest('one').toString('base64url') } };
  const listed = { query: page, variables: { tags: [{ name: 'Kind', values: ['listed'] }] } };
  const info = await compareServers({
    candidate: { script, path: '/gw/info' },
    yardstick: { script, path: '/tiny' },
    load: { path: '/tiny', seconds: 2 },
  });
  return [
    await beside('GraphQL by id', byId, 32, 0.6),
    // Twice what it was.
    await beside('GraphQL first: 100, all fields', listed, 8, 0.1),
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

async function answerBytes(script: URL, asked: RequestInit & { readonly path: string }): Promise<number> {
  await using server = await startServer({ script });
  const answer = await fetch(new URL(asked.path, server.url), asked);
  return (await answer.bytes()).length;
}

export const benches: Bench[] = [
  { name: 'gateway-index/graphql', run: () => runPages('sqlite') },
  { name: 'gateway-index/postgres', run: () => runPages('postgres') },
  { name: 'gateway-index/http', run: runHttp },
];
