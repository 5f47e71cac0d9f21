/**
 * What a gateway's process takes after an hour: as many requests as come in an hour at a hundred a second, one right after
 * the other, of all kinds and for many different ids, while bundles are read. `BENCH_REQUESTS=36000` for six minutes of them.
 */
import { execFileSync, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, type RequestOptions, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { common, placesOfSources, requireBanner, root } from '../scripts/bundling.ts';
import { readConfig } from '../src/config/config.ts';
import { bundleTags, encodeBundleHeader } from '../src/formats/ans104/bundle-header.ts';
import { parseItem } from '../src/formats/ans104/item.ts';
import { buildManifest, manifestContentType } from '../src/formats/manifest/manifest.ts';
import type { Entry } from '../src/gateway/chain-index/records.ts';
import { SqlGatewayIndex } from '../src/gateway/chain-index/sql-index.ts';
import { digest, entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { openContentCache } from '../src/gateway/content/part.ts';
import { gatewayMigrations } from '../src/gateway/migrations.ts';
import { servingEnvironment, servingFlags } from '../src/kernel/workers/node-flags.ts';
import type { BlobCache } from '../src/storage/blobs/cache/cache.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import { ed25519Signer, signItem } from '../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../src/wallets/testing/keys.ts';
import { type SeededRandom, seededRandom } from '../test/support/seeded-random.ts';
import type { Bench, Measurement } from './bench.ts';
import type { ServerReport } from './report-server.ts';
import { fillGateway, itemId, ownerOf } from './scale-data.ts';

const requests = Number(process.env.BENCH_REQUESTS ?? 360_000);
const boundMiB = 300;
const connections = 16;
/** Of the index, beside the content below. */
const indexed = 100_000;
const content = { small: 10_000, large: 24, manifests: 300, paths: 200, bundles: 30, perBundle: 500 };
const largeBytes = 4 * 1024 * 1024;
const height = 50;

const idOf = (name: string): string => digest(name).toString('base64url');

async function fill(dataDir: string): Promise<void> {
  await fillGateway({ dataDir }, indexed);
  const cache = await openContentCache(readConfig({ DATA_DIR: dataDir }));
  const sql = await openDatabase({
    ...{ dataDir, databaseUrl: undefined, name: 'gateway' },
    migrations: gatewayMigrations,
  });
  try {
    const index = new SqlGatewayIndex(sql);
    let batch: Entry[] = [];
    const write = async () => {
      const prepared = await index.writer.prepare(batch);
      await sql.transaction((tx) => index.writer.put(tx, prepared));
      batch = [];
    };
    for await (const made of contents(cache)) {
      batch.push(made);
      if (batch.length === 128) await write();
    }
    await write();
  } finally {
    await sql.close();
    await cache.close();
  }
}

/** Puts each into the cache, and answers what the index is to know of it. */
async function* contents(cache: BlobCache): AsyncGenerator<Entry> {
  const random = seededRandom(1);
  const keep = async (
    name: string,
    bytes: Buffer,
    tags: Readonly<Record<string, string>>,
  ): Promise<Entry> => {
    await cache.put(bytes);
    return entry(
      header(name, { dataSize: bytes.length, tags: rawTags(tags) }),
      { height, blockIndex: 0 },
      { hash: createHash('sha256').update(bytes).digest(), verified: true },
    );
  };
  const filled = (size: number) => Buffer.alloc(size, random.bytes(32));
  for (let n = 0; n < content.small; n += 1) {
    // From 200 bytes to 64 KiB, as many of each order of magnitude.
    const size = Math.floor(200 * 327 ** random.fraction());
    yield keep(`small ${n}`, filled(size), { 'Content-Type': 'image/png', 'Unix-Time': String(n) });
  }
  for (let n = 0; n < content.large; n += 1) {
    yield keep(`large ${n}`, filled(largeBytes), { 'Content-Type': 'video/mp4' });
  }
  for (let n = 0; n < content.manifests; n += 1) {
    const paths = Array.from({ length: content.paths }, (_, path): [string, string] => [
      `assets/page-${path}.html`,
      idOf(`small ${random.below(content.small)}`),
    ]);
    const manifest = buildManifest({ paths: new Map(paths), indexPath: 'assets/page-0.html' });
    yield keep(`manifest ${n}`, manifest, { 'Content-Type': manifestContentType });
  }
  const signer = ed25519Signer(ed25519TestKey('memory'));
  for (let n = 0; n < content.bundles; n += 1) {
    const items: Buffer[] = [];
    for (let item = 0; item < content.perBundle; item += 1) {
      const tags = [
        { name: 'App-Name', value: 'bench' },
        { name: 'Number', value: `${n} ${item}` },
      ];
      items.push(await signItem({ data: filled(500), tags }, signer));
    }
    const entries = items.map((item) => {
      const parsed = parseItem(item);
      if (typeof parsed === 'string') throw new Error(parsed);
      return { size: item.length, id: parsed.header.idBytes };
    });
    const bundle = Buffer.concat([encodeBundleHeader(entries), ...items]);
    yield keep(`bundle ${n}`, bundle, Object.fromEntries(bundleTags.map(({ name, value }) => [name, value])));
  }
}

interface Question extends Pick<RequestOptions, 'path' | 'method' | 'headers'> {
  readonly body?: string;
  readonly expect: number;
}

/** One of a hundred requests, by how often it comes. */
function questionOf(number: number, random: SeededRandom): Question {
  // Half of what is asked for is popular.
  const small = `small ${random.below(random.below(2) === 0 ? 500 : content.small)}`;
  const kind = number % 100;
  if (kind < 35) return { path: `/${kind < 20 ? 'raw/' : ''}${idOf(small)}`, expect: 200 };
  if (kind < 40) return { path: `/raw/${idOf(small)}`, method: 'HEAD', expect: 200 };
  if (kind < 50) {
    const start = random.below(largeBytes - 65_536);
    const headers = { range: `bytes=${start}-${start + random.below(65_536)}` };
    return { path: `/raw/${idOf(`large ${random.below(content.large)}`)}`, headers, expect: 206 };
  }
  const manifest = random.below(content.manifests);
  const page = `/assets/page-${random.below(content.paths)}.html`;
  if (kind < 62) return { path: `/${idOf(`manifest ${manifest}`)}${page}`, expect: 200 };
  if (kind < 70) {
    return { path: page, headers: { host: `site-${manifest}.gateway.test` }, expect: 200 };
  }
  if (kind < 80) {
    return graphql('query($id: ID!) { transaction(id: $id) { id tags { name value } block { height } } }', {
      id: itemId(random.below(indexed)),
    });
  }
  if (kind < 92) return graphql(listQuery, filterOf(random));
  if (kind < 94) return { path: `/raw/${idOf(`large ${random.below(content.large)}`)}`, expect: 200 };
  if (kind < 97) return { path: `/tx/${itemId(random.below(indexed))}/status`, expect: 200 };
  // Without nodes nobody can say that there is none.
  return { path: `/raw/${idOf(`nobody ${number}`)}`, expect: 503 };
}

const listQuery = `query($tags: [TagFilter!], $owners: [String!], $block: BlockFilter) {
  transactions(tags: $tags, owners: $owners, block: $block, first: 100) {
    pageInfo { hasNextPage } edges { cursor node { id owner { address key } data { size type } signature
    tags { name value } block { id timestamp height } bundledIn { id } } } } }`;

function filterOf(random: SeededRandom): object {
  const block = { min: random.below(indexed / 1_000) };
  if (random.below(2) === 0) return { owners: [ownerOf(random.below(100))], block };
  return { tags: [{ name: 'App-Name', values: [`app-${random.below(10)}`] }], block };
}

const graphql = (query: string, variables: object): Question => ({
  path: '/graphql',
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query, variables }),
  expect: 200,
});

async function run(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-memory-'));
  try {
    await fill(folder);
    const child = fork(await packedServer(), [folder], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: [...servingFlags],
      env: { ...servingEnvironment, ...process.env },
    });
    try {
      const [report] = (await once(child, 'message')) as [ServerReport];
      if (report.kind !== 'listening') throw new Error('the server does not listen');
      return await load(new URL(report.url), child.pid ?? 0);
    } finally {
      child.kill('SIGKILL');
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As operators run it: packed, and not TypeScript of which Node strips the types, which takes 45 MiB. */
async function packedServer(): Promise<string> {
  const program = join(root, '.cache', 'bench', 'program');
  execFileSync(process.execPath, [join(root, 'scripts/build.ts'), program]);
  const outfile = join(program, 'gateway-memory.server.js');
  await build({
    ...common,
    entryPoints: [join(import.meta.dirname, 'gateway-memory.server.ts')],
    outfile,
    format: 'esm',
    banner: { js: requireBanner },
    plugins: [placesOfSources],
  });
  return outfile;
}

async function load(url: URL, pid: number): Promise<Measurement[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = url;
  const ask = ({ body, expect, ...options }: Question): Promise<void> =>
    new Promise((resolve, reject) => {
      const asked = request({ hostname, port, agent, ...options }, (answer) => {
        answer.resume();
        answer.on('error', reject);
        answer.on('end', () =>
          answer.statusCode === expect
            ? resolve()
            : reject(new Error(`${options.path} is answered ${answer.statusCode}`)),
        );
      });
      asked.on('error', reject);
      asked.end(body);
    });
  const random = seededRandom(2);
  const series = [residentMiB(pid)];
  let most = series[0]?.all ?? 0;
  const watch = setInterval(() => {
    most = Math.max(most, residentMiB(pid).all);
  }, 250);
  let asked = 0;
  const bundlesEvery = Math.floor(requests / content.bundles);
  const tenth = Math.ceil(requests / 10);
  const client = async () => {
    while (asked < requests) {
      const number = asked;
      asked += 1;
      if (number % tenth === tenth - 1) series.push(residentMiB(pid));
      if (number % bundlesEvery === 0) await ask(queueBundle(number / bundlesEvery));
      await ask(questionOf(number, random));
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, client));
    // What is still being collected or read is over.
    await sleep(2_000);
  } finally {
    clearInterval(watch);
    agent.destroy();
  }
  const last = residentMiB(pid);
  const told = series.map(({ all }) => Math.round(all)).join(', ');
  return [
    {
      name: `a gateway's memory after ${requests} requests of all kinds`,
      value: last.all,
      unit: 'MiB',
      yardstick: `${boundMiB} MiB`,
      ratio: boundMiB / last.all,
      bar: 1,
      note: `from the start and in tenths: ${told}; at most ${Math.round(most)}; ${Math.round(last.file)} of it are files that the system can drop`,
    },
  ];
}

const queueBundle = (number: number): Question => ({
  path: '/gw/admin/queue-bundle',
  method: 'POST',
  headers: { authorization: 'Bearer bench', 'content-type': 'application/json' },
  body: JSON.stringify({ id: idOf(`bundle ${number % content.bundles}`) }),
  expect: 200,
});

/** proc_pid_status(5). */
function residentMiB(pid: number): { readonly all: number; readonly file: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]);
  return { all: kib('VmRSS') / 1_024, file: kib('RssFile') / 1_024 };
}

export const benches: Bench[] = [{ name: 'gateway-memory', run }];
