/** SQLite's group commit beside one commit per transaction, and blobs beside plain file calls. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DiskBlobStore } from '../src/storage/blobs/disk/store.ts';
import { openSqliteFile } from '../src/storage/sql/open.ts';
import type { Sql } from '../src/storage/sql/sql.ts';
import type { Bench, Measurement } from './bench.ts';

const roundMs = 1_000;
const rounds = 3;
const insert = 'INSERT INTO entries (reference, amount) VALUES (?, ?)';
const migrations = [
  { id: 'bench-001', up: 'CREATE TABLE entries (id SERIAL_KEY, reference TEXT NOT NULL UNIQUE, amount AMOUNT);' },
];

export const benches: Bench[] = [
  { name: 'storage/group-commit', run: () => inFolder(groupCommit) },
];

async function groupCommit(folder: string): Promise<Measurement[]> {
  const one = new DatabaseSync(join(folder, 'one.db'));
  one.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  one.exec('CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, reference TEXT NOT NULL UNIQUE, amount TEXT)');
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
  const grouped = (writers: number, write: (sql: Sql) => Promise<unknown>) => async (): Promise<number> => {
    const began = performance.now();
    const until = began + roundMs;
    let done = 0;
    await Promise.all(
      Array.from({ length: writers }, async () => {
        while (performance.now() < until) {
          await write(sql);
          done += 1;
        }
      }),
    );
    return (done * 1_000) / (performance.now() - began);
  };
  const transaction = (database: Sql): Promise<number> =>
    database.transaction((tx) => tx.run(insert, `reference-${count++}`, 1_000_000_000_000n));
  const plans = {
    '64 writers': { run: grouped(64, transaction), bar: 4 },
    '64 writers, single statements': { run: grouped(64, (database) => database.run(insert, `reference-${count++}`, 1n)) },
    '1 writer': { run: grouped(1, transaction) },
  };
  const samples = new Map<string, number[]>();
  const yardstick: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    yardstick.push(each());
    for (const [name, plan] of Object.entries(plans)) {
      samples.set(name, [...(samples.get(name) ?? []), await plan.run()]);
    }
  }
  await sql.close();
  one.close();
  return Object.entries(plans).map(([name, plan]) => {
    const value = median(samples.get(name) ?? []);
    return {
      name,
      value,
      unit: 'tx/s',
      yardstick: `one commit each, synchronous=FULL: ${Math.round(median(yardstick))} tx/s`,
      ratio: value / median(yardstick),
      ...('bar' in plan && { bar: plan.bar }),
    };
  });
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
