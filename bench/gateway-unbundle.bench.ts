/**
 * From "a bundle is queued" to "GraphQL answers for its items", beside the bare signature checks on the same threads;
 * and how fast blocks come in from a local node.
 *
 * What many items cost is counted in CPU time of the process with all its threads, and of PostgreSQL's processes: two cores
 * do twice the work of a CPU second in a second, and a machine that others use as well gives the same figure.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config/config.ts';
import { bundleTags, encodeBundleHeader } from '../src/formats/ans104/bundle-header.ts';
import { parseItem } from '../src/formats/ans104/item.ts';
import { digest, entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { GraphqlService } from '../src/gateway/graphql/execute.ts';
import type { Gateway } from '../src/gateway/surface.ts';
import { createLogger } from '../src/kernel/log.ts';
import { createPool, type Pool } from '../src/kernel/pool/pool.ts';
import { createLocalArweave } from '../src/localnet/arweave/local-arweave.ts';
import {
  ed25519Signer,
  ethereumSigner,
  type ItemSigner,
  signItem,
  solanaSigner,
} from '../src/wallets/data-items/signer.ts';
import { ed25519TestKey, ethereumTestKey } from '../src/wallets/testing/keys.ts';
import { preparePostgres } from '../test/support/postgres-server.ts';
import type { Bench, Measurement } from './bench.ts';
import { createBenchGateway } from './bench-gateway.ts';
import { ask, cpuSecondsOf, postmasterOf } from './process-cpu.ts';
import { quickRsaSigner } from './quick-rsa.ts';
import { type PackedItems, type VerifyTasks, verifyOnThreads, verifyTasksModule } from './verify-items.ts';

/** `BENCH_ITEMS=10000` for a short run. */
const manyItems = Number(process.env.BENCH_ITEMS ?? 100_000);
const perBundle = 10_000;
/** Items in a second of two cores. */
const bars = { sqlite: 10_000, postgres: 6_000 };
const cores = 2;

const log = createLogger({ name: 'bench', level: 'silent', format: 'json' });

/** Of ten items: the kinds of wallets that sign most of what is uploaded. */
const rsaSigners = Array.from({ length: 4 }, (_, number) => quickRsaSigner(number));
const mix = (
  ['rsa', 'ethereum', 'rsa', 'ed25519', 'ethereum', 'rsa', 'solana', 'ethereum', 'rsa', 'ed25519'] as const
).map((kind) => Array.from({ length: kind === 'rsa' ? 4 : 100 }, (_, number) => signerOf(kind, number)));

function signerOf(kind: 'rsa' | 'ethereum' | 'ed25519' | 'solana', number: number): ItemSigner {
  if (kind === 'rsa') return rsaSigners[number] as ItemSigner;
  if (kind === 'ethereum') return ethereumSigner(ethereumTestKey(`bench ${number}`));
  const key = ed25519TestKey(`bench ${number}`);
  return kind === 'solana' ? solanaSigner(key) : ed25519Signer(key);
}

interface MadeBundle {
  readonly name: string;
  readonly bytes: Buffer;
  readonly ids: readonly string[];
  /** For those who check the signatures and do nothing else. */
  readonly packed: PackedItems;
}

/** Items from number `first` on, by a signer of each of the kinds in turn. */
async function makeBundle(
  name: string,
  count: number,
  kinds: readonly (readonly ItemSigner[])[],
  first = 0,
): Promise<MadeBundle> {
  const items: Buffer[] = [];
  for (let number = first; number < first + count; number += 1) {
    const signers = kinds[number % kinds.length] ?? [];
    const signer = signers[Math.floor(number / kinds.length) % signers.length] as ItemSigner;
    const tags = [
      { name: 'Content-Type', value: 'text/plain' },
      { name: 'App-Name', value: 'bench' },
      { name: 'Number', value: String(number) },
    ];
    items.push(await signItem({ data: Buffer.alloc(1_000, number), tags }, signer));
  }
  const ids = items.map((item) => {
    const parsed = parseItem(item);
    if (typeof parsed === 'string') throw new Error(parsed);
    return parsed.header.id;
  });
  const entries = items.map((item, at) => ({
    size: item.length,
    id: Buffer.from(ids[at] ?? '', 'base64url'),
  }));
  const headerBytes = encodeBundleHeader(entries);
  const size = items.reduce((sum, item) => sum + item.length, headerBytes.length);
  // Shared with the threads that only verify.
  const bytes = Buffer.from(new SharedArrayBuffer(size));
  const offsets = new Float64Array(count);
  bytes.set(headerBytes);
  let at = headerBytes.length;
  for (const [index, item] of items.entries()) {
    offsets[index] = at;
    bytes.set(item, at);
    at += item.length;
  }
  const sizes = Float64Array.from(items, (item) => item.length);
  return { name, bytes, ids, packed: { bytes, offsets, sizes } };
}

/** A gateway without nodes that reads its bundles from memory, by the names they are queued under. */
async function withGateway<T>(
  bundles: readonly MadeBundle[],
  work: (gateway: Gateway) => Promise<T>,
  databaseUrl?: string,
): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  const byId = new Map(bundles.map(({ name, bytes }) => [digest(name).toString('base64url'), bytes]));
  const config = readConfig({
    DATA_DIR: dataDir,
    GATEWAY_PORT: '0',
    INDEX_SEED_PORT: '0',
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
  });
  const { surface, ...gateway } = await createBenchGateway(config, { log });
  gateway.content.bytes.stream = async (id) => {
    const bytes = byId.get(id);
    return bytes && { size: bytes.length, proven: true, hash: undefined, stream: pieces(bytes) };
  };
  await surface.start();
  try {
    return await work(gateway);
  } finally {
    await surface.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 262_144) yield bytes.subarray(at, at + 262_144);
}

/** From the first bundle's queueing to the answer that counts the items of all, in milliseconds. */
async function unbundle(
  { index, onDemand }: Gateway,
  bundles: readonly MadeBundle[],
  lookMs = 2,
): Promise<number> {
  const service = new GraphqlService(index, log);
  const headers = bundles.map(({ name, bytes }) =>
    header(name, {
      tags: rawTags(bundleTags.map((tag) => [tag.name, tag.value])),
      dataSize: bytes.length,
    }),
  );
  const prepared = await index.writer.prepare(
    headers.map((one, at) => entry(one, { height: 1, blockIndex: at })),
  );
  await index.sql.transaction((tx) => index.writer.put(tx, prepared));
  const started = performance.now();
  for (const { id } of headers) await onDemand.queueBundle(id.toString('base64url'));
  const query = 'query($ids: [ID!]) { transactions(ids: $ids, first: 100) { count } }';
  // One of each batch of a thousand items: batches need not end in the order in which they began.
  const ids = bundles.flatMap((made) => [
    ...Array.from({ length: 9 }, (_, ninth) => made.ids[Math.floor((ninth * made.ids.length) / 9)]),
    made.ids.at(-1),
  ]);
  for (;;) {
    const answer = await service.answer({ query, variables: { ids }, operationName: undefined });
    if (JSON.parse(answer.body).data.transactions.count === String(ids.length))
      return performance.now() - started;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

const ownCpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

async function withThreads<T>(work: (pool: Pool<VerifyTasks>) => Promise<T>): Promise<T> {
  const pool = createPool<VerifyTasks>({ module: verifyTasksModule, size: cores, maxQueued: 1_000, log });
  try {
    return await work(pool);
  } finally {
    await pool.close();
  }
}

async function runBundle(): Promise<Measurement[]> {
  const rsa = await makeBundle('rsa', 1_000, [rsaSigners]);
  const warm = await makeBundle('warm', 300, [[ed25519Signer(ed25519TestKey('warm'))]]);
  const allowedMs = 300;
  let bareMs = Number.POSITIVE_INFINITY;
  let best = { ms: Number.POSITIVE_INFINITY, cpuMs: 0 };
  await withThreads(async (pool) => {
    await verifyOnThreads(pool, rsa.packed);
    for (let round = 0; round < 4; round += 1) {
      const started = performance.now();
      await verifyOnThreads(pool, rsa.packed);
      bareMs = Math.min(bareMs, performance.now() - started);
      const told = await withGateway([warm, rsa], async (gateway) => {
        // Threads and statements are warm in a gateway that runs.
        await unbundle(gateway, [warm]);
        const before = ownCpuSeconds();
        const ms = await unbundle(gateway, [rsa]);
        return { ms, cpuMs: (ownCpuSeconds() - before) * 1_000 };
      });
      if (told.ms < best.ms) best = told;
    }
  });
  return [
    {
      name: '1,000 RSA items, queued to answered',
      value: best.ms,
      unit: 'ms',
      yardstick: `${allowedMs} ms, 1,000 bare checks take ${Math.round(bareMs)} ms`,
      ratio: allowedMs / best.ms,
      bar: 1,
      note: `${Math.round(best.cpuMs)} ms of CPU`,
    },
  ];
}

async function runMany(engine: 'sqlite' | 'postgres'): Promise<Measurement[]> {
  const bundles: MadeBundle[] = [];
  for (let first = 0; first < manyItems; first += perBundle) {
    bundles.push(await makeBundle(`many ${first}`, Math.min(perBundle, manyItems - first), mix, first));
  }
  const bareCpu = await withThreads(async (pool) => {
    const [sample] = bundles as [MadeBundle];
    await verifyOnThreads(pool, sample.packed);
    const before = ownCpuSeconds();
    await verifyOnThreads(pool, sample.packed);
    return (ownCpuSeconds() - before) / sample.ids.length;
  });
  const server = engine === 'postgres' ? await preparePostgres() : undefined;
  try {
    const postmaster = server && (await postmasterOf(server.url));
    const databaseUrl = server && (await newDatabase(server.url));
    const beside = () => (postmaster === undefined ? 0 : cpuSecondsOf(postmaster));
    const { value, grownMiB } = await watchingMemory(() =>
      withGateway(
        bundles,
        async (gateway) => {
          const [own, others] = [ownCpuSeconds(), beside()];
          const ms = await unbundle(gateway, bundles, 20);
          return { ms, own: ownCpuSeconds() - own, others: beside() - others };
        },
        databaseUrl,
      ),
    );
    const perItem = (seconds: number) => `${Math.round((seconds / manyItems) * 1e6)} µs`;
    const perSecond = (cores * manyItems) / (value.own + value.others);
    const bytes = bundles.reduce((sum, one) => sum + one.bytes.length, 0);
    const parts = [
      `bare checks ${Math.round(bareCpu * 1e6)} µs of CPU an item`,
      `all ${perItem(value.own)}`,
      ...(engine === 'postgres' ? [`and ${perItem(value.others)} of PostgreSQL`] : []),
      `${Math.round(manyItems / (value.ms / 1_000))} items/s by the clock`,
    ];
    return [
      {
        name: `${manyItems} items of mixed kinds, ${engine}`,
        value: perSecond,
        unit: 'items/s of 2 cores',
        yardstick: `${bars[engine]} items/s`,
        ratio: perSecond / bars[engine],
        bar: 1,
        note: parts.join(', '),
      },
      {
        name: `memory grown at most while they are read, ${engine}`,
        value: grownMiB,
        unit: 'MiB',
        yardstick: `${memoryBoundMiB} MiB, the bundles have ${Math.round(bytes / 2 ** 20)} MiB`,
        ratio: memoryBoundMiB / grownMiB,
        bar: 1,
      },
    ];
  } finally {
    await server?.stop();
  }
}

async function newDatabase(server: string): Promise<string> {
  await ask(server, 'DROP DATABASE IF EXISTS unbundled');
  await ask(server, 'CREATE DATABASE unbundled');
  const url = new URL(server);
  url.pathname = '/unbundled';
  return url.href;
}

/** However many items a bundle has, reading it may take no more than this. */
const memoryBoundMiB = 256;

/** Does the work, and tells by how much the process grew at its largest. */
async function watchingMemory<T>(work: () => Promise<T>): Promise<{ value: T; grownMiB: number }> {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  try {
    const value = await work();
    return { value, grownMiB: Math.max(1, most - before) / 2 ** 20 };
  } finally {
    clearInterval(timer);
  }
}

async function runImport(): Promise<Measurement[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  const blocks = 1_000;
  const config = readConfig({
    DATA_DIR: dataDir,
    GATEWAY_PORT: '0',
    INDEX_SEED_PORT: '0',
    LOCAL_ARWEAVE_PORT: '0',
    LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
  });
  const node = createLocalArweave(config, { log });
  await node.start();
  try {
    for (let mined = 0; mined < blocks; mined += 100) await (await fetch(`${node.url}/mine/100`)).text();
    const { surface: gateway } = await createBenchGateway(config, { log, nodeUrls: [node.url] });
    const started = performance.now();
    await gateway.start();
    while (
      Number(
        await (await fetch(`${gateway.url}/gw/__gateway_metrics`))
          .text()
          .then((text) => /^last_height_imported (\d+)/m.exec(text)?.[1] ?? 0),
      ) < blocks
    ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const seconds = (performance.now() - started) / 1_000;
    await gateway.stop();
    return [
      {
        name: `${blocks} empty blocks imported`,
        value: blocks / seconds,
        unit: 'blocks/s',
        yardstick: '100 blocks/s',
        ratio: blocks / seconds / 100,
        bar: 1,
      },
    ];
  } finally {
    await node.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

export const benches: Bench[] = [
  { name: 'gateway-unbundle/bundle', run: runBundle },
  { name: 'gateway-unbundle/sqlite', run: () => runMany('sqlite') },
  { name: 'gateway-unbundle/postgres', run: () => runMany('postgres') },
  { name: 'gateway-import/blocks', run: runImport },
];
