/**
 * From "a bundle is queued" to "GraphQL answers for its items", beside the bare signature checks on the same threads;
 * and how fast blocks come in from a local node.
 */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config/config.ts';
import { bundleTags, encodeBundleHeader } from '../src/formats/ans104/bundle-header.ts';
import { parseItem } from '../src/formats/ans104/item.ts';
import { digest, entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { GraphqlService } from '../src/gateway/graphql/execute.ts';
import type { Gateway } from '../src/gateway/surface.ts';
import { makeFastRsaKey } from '../src/kernel/fast-rsa-key.ts';
import { createLogger } from '../src/kernel/log.ts';
import { createPool } from '../src/kernel/pool/pool.ts';
import { createLocalArweave } from '../src/localnet/arweave/local-arweave.ts';
import { arweaveAddress } from '../src/wallets/arweave/rsa.ts';
import { arweaveSigner, ed25519Signer, type ItemSigner, signItem } from '../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../src/wallets/testing/keys.ts';
import type { Bench, Measurement } from './bench.ts';
import { createBenchGateway } from './bench-gateway.ts';
import { type VerifyTasks, verifyOnThreads, verifyTasksModule } from './verify-items.ts';

/** `BENCH_ITEMS=100000` for the long run. */
const manyItems = Number(process.env.BENCH_ITEMS ?? 20_000);

const log = createLogger({ name: 'bench', level: 'silent', format: 'json' });

async function rsaSigner(): Promise<ItemSigner> {
  const privateKey = createPrivateKey(await makeFastRsaKey());
  const { n } = createPublicKey(privateKey).export({ format: 'jwk' });
  const modulus = Buffer.from(n ?? '', 'base64url');
  return arweaveSigner({ privateKey, modulus, address: arweaveAddress(modulus) });
}

interface MadeBundle {
  readonly bytes: Buffer;
  readonly ids: readonly string[];
  readonly sizes: Float64Array;
}

async function makeBundle(signer: ItemSigner, count: number): Promise<MadeBundle> {
  const items: Buffer[] = [];
  for (let at = 0; at < count; at += 8) {
    items.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(8, count - at) }, (_, offset) =>
          signItem(
            {
              data: Buffer.alloc(1_000, at + offset),
              tags: [
                { name: 'Content-Type', value: 'text/plain' },
                { name: 'App-Name', value: 'bench' },
                { name: 'Number', value: String(at + offset) },
              ],
            },
            signer,
          ),
        ),
      )),
    );
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
  return {
    bytes: Buffer.concat([encodeBundleHeader(entries), ...items]),
    ids,
    sizes: Float64Array.from(items, (item) => item.length),
  };
}

/** A gateway without nodes that reads its bundles from memory, by the names they are queued under. */
async function withGateway<T>(
  bundles: Readonly<Record<string, MadeBundle>>,
  work: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  const byId = new Map(
    Object.entries(bundles).map(([name, { bytes }]) => [digest(name).toString('base64url'), bytes]),
  );
  const config = readConfig({ DATA_DIR: dataDir, GATEWAY_PORT: '0', INDEX_SEED_PORT: '0' });
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

/** Milliseconds from queueing to the answer that counts all items. */
async function unbundle({ index, onDemand }: Gateway, made: MadeBundle, name: string): Promise<number> {
  const service = new GraphqlService(index, log);
  const rootHeader = header(name, {
    tags: rawTags(bundleTags.map((tag) => [tag.name, tag.value])),
    dataSize: made.bytes.length,
  });
  const prepared = await index.writer.prepare([entry(rootHeader, { height: 1, blockIndex: 0 })]);
  await index.sql.transaction((tx) => index.writer.put(tx, prepared));
  const started = performance.now();
  await onDemand.queueBundle(rootHeader.id.toString('base64url'));
  const query = 'query($ids: [ID!]) { transactions(ids: $ids, first: 2) { count } }';
  const ids = [made.ids[0], made.ids.at(-1)];
  for (;;) {
    const answer = await service.answer({ query, variables: { ids }, operationName: undefined });
    if (JSON.parse(answer.body).data.transactions.count === '2') return performance.now() - started;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function runUnbundle(): Promise<Measurement[]> {
  const rsa = await makeBundle(await rsaSigner(), 1_000);
  const warm = await makeBundle(ed25519Signer(ed25519TestKey('warm')), 300);
  const many = await makeBundle(ed25519Signer(ed25519TestKey('bench')), manyItems);
  const pool = createPool<VerifyTasks>({ module: verifyTasksModule, size: 2, maxQueued: 1_000, log });
  const offsets = new Float64Array(rsa.sizes.length);
  for (let at = 0, offset = 32 + 64 * rsa.ids.length; at < offsets.length; at += 1) {
    offsets[at] = offset;
    offset += rsa.sizes[at] ?? 0;
  }
  const shared = new Uint8Array(new SharedArrayBuffer(rsa.bytes.length));
  shared.set(rsa.bytes);
  const bare = async () => {
    const started = performance.now();
    await verifyOnThreads(pool, { bytes: shared, offsets, sizes: rsa.sizes });
    return performance.now() - started;
  };
  const measured: Measurement[] = [];
  try {
    await bare();
    let yardstick = Number.POSITIVE_INFINITY;
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 4; round += 1) {
      yardstick = Math.min(yardstick, await bare());
      const ms = await withGateway({ warm, rsa }, async (context) => {
        // Threads and statements are warm in a gateway that runs.
        await unbundle(context, warm, 'warm');
        return unbundle(context, rsa, 'rsa');
      });
      best = Math.min(best, ms);
    }
    const allowed = 2 * yardstick + 150;
    measured.push({
      name: '1,000 RSA items, queued to answered',
      value: best,
      unit: 'ms',
      yardstick: `2 × 1,000 bare checks (${Math.round(yardstick)} ms) + 150 ms`,
      ratio: allowed / best,
      bar: 1,
    });
  } finally {
    await pool.close();
  }
  const { value: ms, grownMiB } = await watchingMemory(() =>
    withGateway({ many }, (context) => unbundle(context, many, 'many')),
  );
  measured.push(
    {
      name: `${manyItems} Ed25519 items, queued to answered`,
      value: manyItems / (ms / 1_000),
      unit: 'items/s',
      yardstick: 'none: reported',
      ratio: 1,
    },
    {
      name: `memory grown at most while they are read`,
      value: grownMiB,
      unit: 'MiB',
      yardstick: `${memoryBoundMiB} MiB, the bundle has ${Math.round(many.bytes.length / 2 ** 20)} MiB`,
      ratio: memoryBoundMiB / grownMiB,
      bar: 1,
    },
  );
  return measured;
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
  { name: 'gateway-unbundle/items', run: runUnbundle },
  { name: 'gateway-import/blocks', run: runImport },
];
