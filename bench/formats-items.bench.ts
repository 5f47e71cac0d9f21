/**
 * Data items: verification and bundle parsing beside the reference library (`@dha-team/arbundles`), which is
 * there when the published clients are installed (`npm ci` in test/clients).
 */
import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { encodeBundleHeader, parseBundleHeader } from '../src/formats/ans104/bundle-header.ts';
import { parseItem } from '../src/formats/ans104/item.ts';
import { parseItemHeader } from '../src/formats/ans104/item-header.ts';
import { createLogger } from '../src/kernel/log.ts';
import { createPool } from '../src/kernel/pool/pool.ts';
import {
  arweaveSigner,
  ethereumSigner,
  type ItemSigner,
  signItem,
  solanaSigner,
} from '../src/wallets/data-items/signer.ts';
import { testArweaveKey, testEd25519Key, testEthereumKey } from '../src/wallets/testing/keys.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import type { Bench, Measurement } from './bench.ts';
import {
  piecesOf,
  type VerifyTasks,
  verifyItems,
  verifyOnThreads,
  verifyTasksModule,
} from './verify-items.ts';

interface ReferenceItem {
  readonly id: string;
  readonly owner: string;
  readonly tags: readonly { name: string; value: string }[];
}
interface Reference {
  readonly DataItem: { verify(bytes: Buffer): Promise<boolean> };
  readonly Bundle: new (bytes: Buffer) => { readonly items: readonly ReferenceItem[] };
}

const referencePath = resolve(
  import.meta.dirname,
  '../test/clients/node_modules/@dha-team/arbundles/build/node/esm/index.js',
);

async function reference(bench: string): Promise<Reference | undefined> {
  if (existsSync(referencePath)) return await import(pathToFileURL(referencePath).href);
  console.log(`${bench}: skipped, arbundles is not installed: npm ci in test/clients`);
  return undefined;
}

/** Items of 1 KiB with three tags, each different. */
async function makeItems(signer: ItemSigner, count: number): Promise<Buffer[]> {
  const random = seededRandom(signer.signatureType);
  const items: Buffer[] = [];
  for (let i = 0; i < count; i++) {
    const tags = [
      { name: 'Content-Type', value: 'application/octet-stream' },
      { name: 'App-Name', value: 'bench' },
      { name: 'Number', value: String(i) },
    ];
    items.push(await signItem({ data: random.bytes(1_024), tags }, signer));
  }
  return items;
}

/** Calls per CPU second, from the process's own times: other work on the machine does not count. */
async function perCpuSecond(seconds: number, count: number, work: () => unknown): Promise<number> {
  await work();
  const start = process.cpuUsage();
  let calls = 0;
  for (;;) {
    await work();
    calls += count;
    const used = process.cpuUsage(start);
    const spent = (used.user + used.system) / 1e6;
    if (spent >= seconds) return calls / spent;
  }
}

const kinds = [
  { name: 'Arweave', signer: arweaveSigner(testArweaveKey), bar: 3, items: 60 },
  { name: 'Ethereum', signer: ethereumSigner(testEthereumKey), bar: 3, items: 512 },
  { name: 'Solana', signer: solanaSigner(testEd25519Key), bar: 12, items: 300 },
];

async function verifyBench(): Promise<Measurement[]> {
  const library = await reference('formats/verify-items');
  const results: Measurement[] = [];
  if (library === undefined) return results;
  for (const { name, signer, bar, items: count } of kinds) {
    const items = await makeItems(signer, count);
    const packed = shared(items);
    const ours = await perCpuSecond(1, count, () => verifyItems(packed));
    const measured = { name: `${name} items of 1 KiB`, value: ours, unit: 'items/cpu-s' };
    const some = items.slice(0, 60);
    const theirs = await perCpuSecond(1, some.length, async () => {
      for (const item of some) if (!(await library.DataItem.verify(item))) throw new Error('invalid');
    });
    results.push({ ...measured, yardstick: 'arbundles', ratio: ours / theirs, bar });
  }
  return results;
}

/** Wall-clock items per second on this thread, and on a pool with one thread per core. */
async function poolBench(): Promise<Measurement[]> {
  const threads = Math.min(2, cpus().length);
  const log = createLogger({ level: 'silent', format: 'json', name: 'bench' });
  const pool = createPool<VerifyTasks>({ module: verifyTasksModule, size: threads, maxQueued: 100, log });
  const results: Measurement[] = [];
  try {
    for (const { name, signer, items: count } of kinds) {
      const unique = await makeItems(signer, count);
      const items = Array.from({ length: 3_000 }, (_, i) => unique[i % count]!);
      const packed = shared(items);
      const alone = await perSecond(items.length, () => {
        for (const piece of piecesOf(packed)) verifyItems(piece);
      });
      await verifyOnThreads(pool, shared(items.slice(0, 512)));
      const pooled = await perSecond(items.length, () => verifyOnThreads(pool, packed));
      results.push({
        name: `${name}, ${threads} threads`,
        value: pooled,
        unit: 'items/s',
        yardstick: 'one thread',
        ratio: pooled / alone,
        ...(threads === 2 ? { bar: 1.7 } : {}),
      });
    }
  } finally {
    await pool.close();
  }
  return results;
}

function shared(items: readonly Buffer[]) {
  const sizes = Float64Array.from(items, (item) => item.length);
  const offsets = new Float64Array(items.length);
  for (let i = 1; i < items.length; i++) offsets[i] = offsets[i - 1]! + sizes[i - 1]!;
  const bytes = new Uint8Array(new SharedArrayBuffer(offsets.at(-1)! + sizes.at(-1)!));
  items.forEach((item, i) => {
    bytes.set(item, offsets[i]!);
  });
  return { bytes, offsets, sizes };
}

async function perSecond(count: number, work: () => unknown): Promise<number> {
  let best = 0;
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    await work();
    best = Math.max(best, count / ((performance.now() - start) / 1_000));
  }
  return best;
}

async function parseBench(): Promise<Measurement[]> {
  const library = await reference('formats/parse-bundle');
  if (library === undefined) return [];
  const count = 10_000;
  const bundle = makeBundle(await makeItems(solanaSigner(testEd25519Key), count));
  const ours = await perCpuSecond(1, count, () => parseAll(bundle));
  const measured = { name: 'parse 10,000 items: ids, owners, tags', value: ours, unit: 'items/cpu-s' };
  const theirs = await perCpuSecond(1, count, () => {
    let seen = 0;
    for (const item of new library.Bundle(bundle).items)
      seen += item.id.length + item.owner.length + item.tags.length;
    return seen;
  });
  return [{ ...measured, yardstick: 'arbundles', ratio: ours / theirs, bar: 3 }];
}

function makeBundle(items: readonly Buffer[]): Buffer {
  const entries = items.map((item) => {
    const header = parseItemHeader(item);
    if (typeof header === 'string') throw new Error(header);
    return { id: header.idBytes, size: item.length };
  });
  return Buffer.concat([encodeBundleHeader(entries), ...items]);
}

function parseAll(bundle: Buffer): number {
  const header = parseBundleHeader(bundle);
  if (typeof header === 'string') throw new Error(header);
  let seen = 0;
  for (let i = 0; i < header.count; i++) {
    const item = parseItem(bundle.subarray(header.offsets[i]!, header.offsets[i + 1]!));
    if (typeof item === 'string') throw new Error(item);
    // The id as the bundle states it, which is what the library answers too.
    seen += header.id(i).length + item.header.owner.toString('base64url').length + item.header.tags.length;
  }
  return seen;
}

export const benches: Bench[] = [
  { name: 'formats/verify-items', run: verifyBench },
  { name: 'formats/verify-items-pool', run: poolBench },
  { name: 'formats/parse-bundle', run: parseBench },
];
