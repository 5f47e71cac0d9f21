/**
 * How Turnpike grows: the same work with 1, 2 and 4 processes on one database, and on databases of 10^4, 10^5 and
 * 10^6 items. What counts is the work done in a second of CPU time: there are fewer cores here than processes.
 *
 * N processes on one database are compared with N that share nothing, each with a copy of its own: that is what N times one
 * process does on this machine, where they take turns on a core and find their caches cold. All processes of a server are on
 * one core and the load on another, so that they are as busy as those of a machine with a core for each: a process with
 * little to do does its work in smaller pieces, and that costs more. All servers run side by side and are loaded in turn, so
 * that a busy machine slows all of them alike.
 *
 * `npm run bench -- scale` measures up to 10^5 items, BENCH_SCALE_ITEMS=1000000 up to 10^6, on both engines;
 * with `--write` the tables of docs/scaling.md are written anew. BENCH_SCALE_SURFACES=payment,ledger
 * measures a part, BENCH_SCALE_WORKS=owner what has that in its name, BENCH_SCALE_PROCESSES=1,8,16 on more cores.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFastRsaKey } from '../src/kernel/fast-rsa-key.ts';
import { signPss } from '../src/wallets/arweave/rsa.ts';
import { testArweaveKey } from '../src/wallets/testing/keys.ts';
import { preparePostgres } from '../test/support/postgres-server.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import { startStack } from '../test/support/stack.ts';
import type { Bench, Measurement } from './bench.ts';
import {
  compareRunning,
  type LoadComparison,
  type LoadOptions,
  type RunningServer,
  startServer,
} from './load.ts';
import { ask, cpuSecondsOf, ownCpuSecondsOf, postmasterOf } from './process-cpu.ts';
import {
  fillGateway,
  fillLedger,
  itemId,
  largeId,
  loadWallets,
  manifestId,
  ownerOf,
  type Place,
  walletAddress,
} from './scale-data.ts';

type Engine = 'sqlite' | 'postgres';

const most = Number(process.env.BENCH_SCALE_ITEMS ?? 100_000);
const sizes = [10_000, 100_000, 1_000_000].filter((items) => items <= most);
/** Only these of `works`. */
const wanted = process.env.BENCH_SCALE_SURFACES?.split(',');
const wantedWorks = process.env.BENCH_SCALE_WORKS?.split(',') ?? [''];
/** Of the databases that several processes share. */
const middle = Math.min(100_000, most);
const processCounts = (process.env.BENCH_SCALE_PROCESSES ?? '1,2,4').split(',').map(Number);
/** What N cores do at least of N times the work of one. */
const bar = 0.85;
/** Of CPU in a second that a further process may take with nothing to do: half a percent of a core. */
const idleBarMs = 5;
const idleMs = 20_000;
/** To each process: N times as many come to N of them. */
const connections = 64;

interface Work {
  readonly name: string;
  readonly unit: string;
  load(items: number): Promise<LoadOptions> | LoadOptions;
  /** Whether an answer is right; the load looks at its status alone. */
  isRight?(text: string): boolean;
}

/** What a process is warmed up with for its first work, and for each further one. */
const warmCpuSeconds = { first: 6, further: 1 };
const cores = { servers: 0, load: 1 };
const times = { warmSeconds: 0.5, seconds: 5, turnMs: 500, core: cores.load };

const works: Readonly<Record<'gateway' | 'payment' | 'ledger' | 'upload', readonly Work[]>> = {
  gateway: [
    {
      name: '1 KiB by id, one id',
      unit: 'reads',
      load: () => ({ path: `/raw/${itemId(0)}` }),
      isRight: (text) => text === 'a'.repeat(1_024),
    },
    {
      name: '1 KiB by id, any id',
      unit: 'reads',
      load: (items) => paths(items, 40_000, (n) => `/raw/${itemId(n)}`),
      isRight: (text) => text === 'a'.repeat(1_024),
    },
    {
      name: 'range of 1 KiB in 1 MiB',
      unit: 'reads',
      load: () => ({
        path: `/raw/${largeId}`,
        headers: { range: 'bytes=500000-501023' },
        expect: [206],
      }),
    },
    {
      name: 'path of a manifest',
      unit: 'reads',
      load: () => ({ path: `/${manifestId}/page` }),
      isRight: (text) => text === 'a'.repeat(1_024),
    },
    {
      name: 'GraphQL by id',
      unit: 'answers',
      load: (items) =>
        // Few, because each process remembers what it answered for a while, and on one core each is asked less often.
        paths(items, 1_000, (n) =>
          graphql(
            'query($id: ID!) { transaction(id: $id) { id owner { address } tags { name value } block { height } } }',
            { id: itemId(n) },
          ),
        ),
      isRight: (text) => text.includes('"Unix-Time"'),
    },
    page('tag', () => ({ tags: [{ name: 'App-Name', values: ['app-3'] }] })),
    page('two tags', () => ({
      tags: [
        { name: 'Content-Type', values: ['image/png'] },
        { name: 'App-Name', values: ['app-3'] },
      ],
    })),
    page('owner', () => ({ owners: [ownerOf(7)] })),
    page('everything', () => ({})),
  ],
  payment: [
    {
      name: 'price of bytes',
      unit: 'answers',
      load: () => paths(10_000, 1_000, (n) => `/v1/price/bytes/${1 + n * 7_919}`),
    },
    {
      name: 'balance by address',
      unit: 'answers',
      load: (items) => paths(items, 10_000, (n) => `/v1/balance?address=${walletAddress(n)}`),
    },
    { name: 'balance, signed with RSA-4096', unit: 'answers', load: signedBalance },
  ],
  ledger: [{ name: 'reserve and settle credits', unit: 'pairs', load: () => ({ path: '/' }) }],
  upload: [upload('upload of 1 KiB', 1_024), upload('upload of 100 KiB', 102_400)],
};

function page(name: string, filter: () => object): Work {
  const query = `query($tags: [TagFilter!], $owners: [String!]) { transactions(tags: $tags, owners: $owners, first: 100) {
    pageInfo { hasNextPage } edges { cursor node { id owner { address } data { size type } tags { name value }
    block { id timestamp height } bundledIn { id } } } } }`;
  return {
    name: `GraphQL by ${name}, first: 100`,
    unit: 'pages',
    load: () => ({ path: graphql(query, filter()) }),
    isRight: (text) => text.split('"cursor"').length === 101,
  };
}

function graphql(query: string, variables: object): string {
  return `/graphql?${new URLSearchParams({
    query: query.replace(/\s+/g, ' '),
    variables: JSON.stringify(variables),
  })}`;
}

function upload(name: string, payloadBytes: number): Work {
  const load = { path: '/v1/tx/solana', method: 'POST', items: { payloadBytes, wallets: loadWallets } };
  return { name, unit: 'items', load: () => load };
}

/** So many of them, spread over all. */
function paths(items: number, count: number, pathOf: (n: number) => string): LoadOptions {
  const random = seededRandom(items);
  const chosen = Array.from({ length: count }, () => pathOf(random.bytes(4).readUInt32BE() % items));
  return { path: '/', paths: chosen };
}

async function signedBalance(): Promise<LoadOptions> {
  const nonce = '5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495';
  const signature = await signPss(testArweaveKey.privateKey, Buffer.from(nonce));
  return {
    path: '/v1/balance',
    headers: {
      'x-public-key': testArweaveKey.modulus.toString('base64url'),
      'x-nonce': nonce,
      'x-signature': signature.toString('base64url'),
    },
  };
}

/** A server whose growth is measured. */
interface Case {
  readonly items: number;
  /** Of each process: the same one, or one each. */
  readonly places: readonly Place[];
  readonly kind: 'one process' | 'several on one database' | 'several that share nothing';
}

/** What one work did, case by case. */
interface Row {
  readonly work: Work;
  readonly measured: readonly (LoadComparison & Case)[];
}

async function measureEngine(engine: Engine): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-scale-'));
  const server = engine === 'postgres' ? await preparePostgres() : undefined;
  const postmaster = server && (await postmasterOf(server.url));
  try {
    const { cases, bytes } = await prepareCases(folder, server?.url);
    const rows: Row[] = [];
    for (const [surface, list] of Object.entries(works)) {
      if (wanted !== undefined && !wanted.includes(surface)) continue;
      const chosen = list.filter(({ name }) => wantedWorks.some((word) => name.includes(word)));
      if (chosen.length === 0) continue;
      rows.push(...(await measureSurface(surface, chosen, cases, postmaster)));
      if (process.argv.includes('--write')) writeTable(engine, rows, bytes);
    }
    return [...measurementsOf(rows), ...bytes];
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the databases are filled with, of the works that are wanted. */
const fills = [
  { what: 'index', name: 'gateway', fill: fillGateway, for: ['gateway'] },
  {
    what: 'ledger, uploads included',
    name: 'ledger',
    fill: fillLedger,
    for: ['payment', 'ledger', 'upload'],
  },
].filter((one) => wanted === undefined || one.for.some((surface) => wanted.includes(surface)));

/** First the one that the others are measured against. */
async function prepareCases(
  folder: string,
  server: string | undefined,
): Promise<{ cases: Case[]; bytes: Measurement[] }> {
  const receipts = await makeFastRsaKey();
  const bytes: Measurement[] = [];
  const placeOf = async (name: string, like?: Place): Promise<Place> => {
    const dataDir = join(folder, name);
    if (like === undefined) mkdirSync(dataDir, { mode: 0o700 });
    else cpSync(like.dataDir, dataDir, { recursive: true });
    writeFileSync(join(dataDir, 'receipts.pem'), receipts, { mode: 0o600 });
    if (server === undefined) return { dataDir };
    const databaseUrl = new URL(server);
    const template =
      like?.databaseUrl === undefined ? '' : ` TEMPLATE ${new URL(like.databaseUrl).pathname.slice(1)}`;
    await ask(server, `CREATE DATABASE scale_${name}${template}`);
    databaseUrl.pathname = `/scale_${name}`;
    // All servers are up at the same time, and PostgreSQL takes a hundred connections.
    databaseUrl.searchParams.set('pool_size', '4');
    return { dataDir, databaseUrl: databaseUrl.href };
  };
  const bySize: Case[] = [];
  for (const items of sizes) {
    const place = await placeOf(`of_${items}`);
    for (const { what, name, fill } of fills) {
      const began = performance.now();
      await fill(place, items);
      const seconds = (performance.now() - began) / 1_000;
      bytes.push(bytesMeasurement(what, (await bytesOf(place, name)) / items, items, seconds));
    }
    bySize.push({ kind: 'one process', items, places: [place] });
  }
  const base = bySize.find(({ items }) => items === middle);
  const [place] = base?.places ?? [];
  if (base === undefined || place === undefined)
    throw new Error('BENCH_SCALE_ITEMS is 10000, 100000 or 1000000');
  const byProcesses: Case[] = [];
  for (const processes of processCounts.slice(1)) {
    const alone: Place[] = [];
    for (let one = 0; one < processes; one += 1)
      alone.push(await placeOf(`alone_${processes}_${one}`, place));
    const shared = await placeOf(`by_${processes}`, place);
    byProcesses.push(
      { kind: 'several that share nothing', items: middle, places: alone },
      { kind: 'several on one database', items: middle, places: alone.map(() => shared) },
    );
  }
  return { cases: [base, ...byProcesses, ...bySize.filter((one) => one !== base)], bytes };
}

function bytesMeasurement(what: string, bytes: number, items: number, seconds: number): Measurement {
  return {
    name: `${what}, of ${items}`,
    value: bytes,
    unit: 'bytes/item',
    yardstick: `1,500 bytes (filled in ${Math.round(seconds)} s)`,
    ratio: 1_500 / bytes,
  };
}

/** What the database of that name takes on disk. */
async function bytesOf({ dataDir, databaseUrl }: Place, name: string): Promise<number> {
  if (databaseUrl === undefined) return statSync(join(dataDir, `${name}.db`)).size;
  const [row] = await ask<{ size: string }>(
    databaseUrl,
    `SELECT sum(pg_total_relation_size(pg_class.oid)) AS size FROM pg_class
     JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = '${name}' AND relkind = 'r'`,
  );
  return Number(row?.size);
}

async function measureSurface(
  surface: string,
  list: readonly Work[],
  cases: readonly Case[],
  postmaster: number | undefined,
): Promise<Row[]> {
  await using servers = new AsyncDisposableStack();
  const running: RunningServer[] = [];
  const script = join(import.meta.dirname, 'scale.server.ts');
  for (const { places } of cases) {
    const args = (process: number) => {
      const { dataDir, databaseUrl } = places[process] as Place;
      return [surface, dataDir, ...(databaseUrl === undefined ? [] : [databaseUrl])];
    };
    running.push(
      servers.use(await startServer({ script, args, processes: places.length, core: cores.servers })),
    );
  }
  for (const server of running) await atRest(server);
  const rows: Row[] = [];
  for (const work of list) {
    const loaded = await Promise.all(
      cases.map(async ({ kind, items, places }, index) => {
        const server = running[index];
        if (server === undefined) throw new Error('each case has a server');
        const load = { connections: connections * places.length, ...(await work.load(items)) };
        await insistOnRight(work, server.url, load);
        const against = kind === 'several on one database' ? index - 1 : 0;
        return postmaster === undefined
          ? { server, load, against }
          : { server, load, against, besideCpuSeconds: () => cpuSecondsOf(postmaster) };
      }),
    );
    const warm = rows.length === 0 ? warmCpuSeconds.first : warmCpuSeconds.further;
    const told = await compareRunning(loaded, { ...times, warmCpuSeconds: warm });
    const measured = cases.map((one, index) => ({ ...one, ...(told[index] as LoadComparison) }));
    rows.push({ work, measured });
    const ratios = measured.map((one) => `${nameOf(one)}: ${one.ratio.toFixed(2)}`);
    console.error(`  ${work.name}: ${ratios.join(', ')}`);
  }
  return rows;
}

/** What comes with a start is over: a ledger is read whole and checked then. */
async function atRest(server: RunningServer): Promise<void> {
  for (;;) {
    const before = await server.cpuSeconds();
    await sleep(1_000);
    if ((await server.cpuSeconds()) - before < 0.05 * server.urls.length) return;
  }
}

async function insistOnRight(work: Work, url: string, { path, paths: several }: LoadOptions): Promise<void> {
  if (work.isRight === undefined) return;
  const answer = await (await fetch(`${url}${several?.[0] ?? path}`)).text();
  if (!work.isRight(answer)) throw new Error(`${work.name} is answered ${answer.slice(0, 500)}`);
}

const nameOf = ({ kind, items, places }: Case): string =>
  `${places.length} × ${items}${kind === 'several that share nothing' ? ' each' : ''}`;

function measurementsOf(rows: readonly Row[]): Measurement[] {
  return rows.flatMap(({ work, measured }) =>
    measured.map((one) => {
      const grows = one.kind === 'several on one database';
      const beside = Number.isNaN(one.besideCpuMs)
        ? {}
        : { note: `${one.besideCpuMs.toFixed(2)} ms of PostgreSQL each` };
      return {
        name: `${work.name}, ${nameOf(one)}`,
        value: one.requestsPerCpuSecond,
        unit: `${work.unit}/cpu-s`,
        yardstick: grows ? `${one.places.length} that share nothing` : `one process, ${middle} items`,
        ratio: one.ratio,
        ...(grows && { bar }),
        ...beside,
      };
    }),
  );
}

const docs = join(import.meta.dirname, '../docs/scaling.md');

/** Between the two comments that name the engine. What was not measured this time stays as it was. */
function writeTable(engine: Engine, rows: readonly Row[], bytes: readonly Measurement[]): void {
  const shown = ({ kind }: Case) => kind !== 'several that share nothing';
  const columns = rows[0]?.measured.filter(shown).slice(1) ?? [];
  const beside = engine === 'postgres';
  const heads = [
    'Work per CPU second',
    `1 process, ${figure(middle)} items`,
    ...columns.map(({ places, items }) =>
      places.length > 1 ? `${places.length} processes` : `${figure(items)} items`,
    ),
    ...(beside ? ['PostgreSQL, each'] : []),
  ];
  const told = rows.map(({ work, measured }) => {
    const [one, ...others] = measured.filter(shown);
    return row([
      work.name,
      `${figure(one?.requestsPerCpuSecond ?? 0)} ${work.unit}`,
      ...others.map(({ ratio }) => `× ${ratio.toFixed(2)}`),
      ...(beside ? [`${(one?.besideCpuMs ?? 0).toFixed(2)} ms`] : []),
    ]);
  });
  const weights = bytes.map(({ name, value }) => `${name}: ${figure(value)} bytes an item`).join('; ');
  const machine = `${cpus().length} cores of ${cpus()[0]?.model}, Node ${process.version}`;
  const [begin, end] = [`<!-- scale ${engine} -->`, `<!-- end of scale ${engine} -->`];
  const text = readFileSync(docs, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/scaling.md has no place for ${begin}`);
  const before = text.slice(from, to).split('\n');
  const lines = Object.values(works)
    .flat()
    .flatMap(({ name }) => [...told, ...before].find((line) => line.startsWith(`| ${name} |`)) ?? []);
  const table = [row(heads), row(heads.map(() => '---')), ...lines].join('\n');
  // Where only a part was filled, what the other takes on disk is known from before.
  const onDisk =
    wanted === undefined
      ? `On disk: ${weights}. Measured on ${machine}.`
      : before.find((line) => line.startsWith('On disk: '));
  const made = `${begin}\n${table}\n\n${onDisk}\n`;
  writeFileSync(docs, text.slice(0, from) + made + text.slice(to));
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const figure = (value: number): string =>
  (value >= 100 ? Math.round(value) : Number(value.toPrecision(3))).toLocaleString('en');

/** Processes that have nothing to do: what each polls, the others must not poll too. */
async function measureIdle(): Promise<Measurement[]> {
  const one = (await idleCpu(1)) * 1_000;
  const four = (await idleCpu(4)) * 1_000;
  const further = (four - one) / 3;
  return [
    {
      name: 'each further gateway process with nothing to do',
      value: further,
      unit: 'ms of CPU a second',
      yardstick: `${idleBarMs} ms (the first takes ${one.toFixed(1)})`,
      ratio: idleBarMs / further,
      bar: 1,
    },
  ];
}

/** CPU seconds of the workers in a second. */
async function idleCpu(workers: number): Promise<number> {
  const stack = await startStack({ only: ['gateway', '--workers', String(workers)] });
  try {
    const pid = stack.process.pid ?? 0;
    const own = () => cpuSecondsOf(pid) - ownCpuSecondsOf(pid);
    // What comes with the start is over.
    await sleep(idleMs / 2);
    const before = own();
    await sleep(idleMs);
    return ((own() - before) * 1_000) / idleMs;
  } finally {
    await stack.stop();
  }
}

export const benches: Bench[] = [
  { name: 'scale/sqlite', run: () => measureEngine('sqlite') },
  { name: 'scale/postgres', run: () => measureEngine('postgres') },
  { name: 'scale/idle', run: measureIdle },
];
