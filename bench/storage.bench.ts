/** SQLite's group commit beside one commit per transaction, and blobs beside plain file calls. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, open, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DiskBlobStore } from '../src/storage/blobs/disk/store.ts';
import { openSqliteFile } from '../src/storage/sql/open.ts';
import type { Bench, Measurement } from './bench.ts';

const roundMs = 500;
const rounds = 3;
const insert = 'INSERT INTO entries (reference, amount) VALUES (?, ?)';
const migrations = [
  {
    id: 'bench-001',
    up: 'CREATE TABLE entries (id SERIAL_KEY, reference TEXT NOT NULL UNIQUE, amount AMOUNT);',
  },
];

export const benches: Bench[] = [
  { name: 'storage/group-commit', run: () => inFolder(groupCommit) },
  { name: 'storage/blob-write', run: () => inFolder(blobWrites) },
  { name: 'storage/blob-read', run: () => inFolder(blobReads) },
];

async function groupCommit(folder: string): Promise<Measurement[]> {
  const one = new DatabaseSync(join(folder, 'one.db'));
  one.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  one.exec(
    'CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, reference TEXT NOT NULL UNIQUE, amount TEXT)',
  );
  const statement = one.prepare(insert);
  let count = 0;
  const each = (): number => {
    const until = performance.now() + roundMs;
    let done = 0;
    while (performance.now() < until) {
      one.exec('BEGIN IMMEDIATE');
      statement.run(`reference-${count++}`, '1000000000000');
      one.exec('COMMIT');
      done += 1;
    }
    return (done * 1_000) / roundMs;
  };

  const sql = await openSqliteFile(join(folder, 'grouped.db'), migrations);
  const transaction = (): Promise<number> =>
    sql.transaction((tx) => tx.run(insert, `reference-${count++}`, 1_000_000_000_000n));
  const plans = {
    '64 writers': () => rate(64, transaction),
    '64 writers, single statements': () => rate(64, () => sql.run(insert, `reference-${count++}`, 1n)),
    '1 writer': () => rate(1, transaction),
  };
  const measured = await interleaved(plans, each);
  await sql.close();
  one.close();
  return measured.map(({ name, value, yardstick }) => ({
    name,
    value,
    unit: 'tx/s',
    yardstick: `one commit each, synchronous=FULL: ${Math.round(yardstick)} tx/s`,
    ratio: value / yardstick,
    ...(name === '64 writers' && { bar: 4 }),
  }));
}

/** Beside the least that is durable and content addressed: hash, write, fdatasync, rename, fsync of folders. */
async function blobWrites(folder: string): Promise<Measurement[]> {
  const store = await DiskBlobStore.open({ folder: join(folder, 'store') });
  const measurements: Measurement[] = [];
  for (const [label, size, writers] of [
    ['1 KiB', 1_024, 16],
    ['256 KiB', 262_144, 16],
    ['16 MiB', 16_777_216, 2],
  ] as const) {
    const bytes = randomBytes(size);
    let count = 0;
    const next = (): Buffer => {
      bytes.writeDoubleLE(Math.random(), 0);
      count += 1;
      return Buffer.from(bytes);
    };
    const plain = async (): Promise<void> => {
      const content = next();
      const digest = createHash('sha256').update(content).digest('hex');
      const path = join(folder, `plain-${count}`);
      const file = await open(path, 'wx');
      await file.writeFile(content);
      await file.datasync();
      await file.close();
      const parent = join(folder, digest.slice(0, 2), digest.slice(2, 4));
      const made = await mkdir(parent, { recursive: true });
      await rename(path, join(parent, digest));
      for (const changed of made === undefined ? [parent] : [parent, dirname(parent), folder]) {
        const handle = await open(changed, 'r');
        await handle.sync();
        await handle.close();
      }
    };
    const [measured] = await interleaved({ [label]: () => rate(writers, () => store.put(next())) }, () =>
      rate(writers, plain),
    );
    if (measured === undefined) continue;
    measurements.push({
      name: `${label}, ${writers} writers`,
      value: (measured.value * size) / 1e6,
      unit: 'MB/s',
      yardstick: 'the same by plain file calls',
      ratio: measured.value / measured.yardstick,
      note: `${Math.round(measured.value)} blobs/s`,
    });
  }
  await store.close();
  return measurements;
}

/** Beside opening the file for each read, which is what keeping descriptors saves. */
async function blobReads(folder: string): Promise<Measurement[]> {
  const store = await DiskBlobStore.open({ folder });
  const measurements: Measurement[] = [];
  for (const [label, size] of [
    ['1 KiB', 1_024],
    ['1 MiB', 1_048_576],
  ] as const) {
    const digests: string[] = [];
    for (let index = 0; index < 32; index += 1) digests.push((await store.put(randomBytes(size))).digest);
    let turn = 0;
    const next = (): string => digests[turn++ % digests.length] ?? '';
    const target = Buffer.alloc(size);
    const kept = async (): Promise<void> => {
      const reader = await store.open(next());
      await reader?.read(target, 0);
      await reader?.close();
    };
    const fresh = async (): Promise<void> => {
      const file = await open(store.path(next()), 'r');
      await file.stat();
      await file.read(target, 0, size, 0);
      await file.close();
    };
    const [measured] = await interleaved({ [label]: () => rate(8, kept) }, () => rate(8, fresh));
    if (measured === undefined) continue;
    measurements.push({
      name: `${label}, 8 readers`,
      value: measured.value,
      unit: 'reads/s',
      yardstick: 'open, stat, read, close',
      ratio: measured.value / measured.yardstick,
    });
  }
  await store.close();
  return measurements;
}

/** How often per second `step` completes with so many at work. */
async function rate(workers: number, step: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  const until = began + roundMs;
  let done = 0;
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (performance.now() < until) {
        await step();
        done += 1;
      }
    }),
  );
  return (done * 1_000) / (performance.now() - began);
}

/** Medians over rounds in which every plan and the yardstick take turns. */
async function interleaved(
  plans: Record<string, () => Promise<number>>,
  yardstick: () => Promise<number> | number,
): Promise<{ name: string; value: number; yardstick: number }[]> {
  const base: number[] = [];
  const samples = Object.entries(plans).map(([name, run]) => ({ name, run, values: [] as number[] }));
  for (let round = 0; round < rounds; round += 1) {
    base.push(await yardstick());
    for (const { run, values } of samples) values.push(await run());
  }
  return samples.map(({ name, values }) => ({ name, value: median(values), yardstick: median(base) }));
}

async function inFolder(work: (folder: string) => Promise<Measurement[]>): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
