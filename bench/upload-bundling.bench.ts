/**
 * Bundling: 10,000 items of 10 KiB from the database to the local chain, and what of it is written to disk; and the same from
 * an object store that is 20 ms away, by one process and by two.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { BlobStore } from '../src/storage/blobs/blobs.ts';
import { S3BlobStore } from '../src/storage/blobs/s3/store.ts';
import type { Sql } from '../src/storage/sql/sql.ts';
import { storeItems } from '../src/upload/bundler/testing.ts';
import { testArweaveKey } from '../src/wallets/testing/keys.ts';
import { seededRandom } from '../test/support/seeded-random.ts';
import type { Bench, Measurement } from './bench.ts';
import { openBundling } from './bundling.ts';
import type { ServerReport } from './report-server.ts';

const count = 10_000;
const payloadBytes = 10 * 1024;
const random = seededRandom(3);

/** Bytes that this process has had written to disk, where the system says so. */
function writtenBytes(): number {
  try {
    return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

async function startNode(folder: string): Promise<{ process: ChildProcess; url: string }> {
  const script = resolve(import.meta.dirname, '../test/support/local-arweave-process.ts');
  const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((done, failed) => {
    child.stdout.once('data', (text: Buffer) => done(text.toString().trim()));
    child.once('exit', () => failed(new Error('the local node did not start')));
  });
  await request(`${url}/mint/${testArweaveKey.address}/1000000000000000000`);
  return { process: child, url };
}

/** Stores items, and answers their bytes. */
async function takeIn(to: { readonly sql: Sql; readonly blobs: BlobStore }, items: number): Promise<number> {
  let bytes = 0;
  for (let left = items; left > 0; left -= 500) {
    const payloads = Array.from({ length: Math.min(left, 500) }, () => random.bytes(payloadBytes));
    for (const item of await storeItems(to, payloads)) bytes += item.bytes.length;
  }
  return bytes;
}

const cpuSeconds = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
};

async function bundlingBench(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-bundle-'));
  const node = await startNode(join(folder, 'node'));
  const bundling = await openBundling({ folder, store: undefined, node: node.url, maxItems: count });
  try {
    const beforeItems = writtenBytes();
    const bytes = await takeIn(bundling, count);
    const takingIn = writtenBytes() - beforeItems;
    const beforeBundle = writtenBytes();
    const start = performance.now();
    const cpu = process.cpuUsage();
    await bundling.bundler.turn();
    const seconds = (performance.now() - start) / 1_000;
    const used = cpuSeconds(cpu);
    const written = writtenBytes() - beforeBundle;
    const row = await bundling.sql.get<{ state: string; item_count: number }>(
      'SELECT state, item_count FROM upload_bundles',
    );
    if (
      row === undefined ||
      row.item_count !== count ||
      (row.state !== 'seeded' && row.state !== 'permanent')
    ) {
      throw new Error(`the bundle is ${row?.state} with ${row?.item_count} items`);
    }
    return [
      {
        name: '10,000 items of 10 KiB planned, prepared, posted and seeded',
        value: seconds,
        unit: 's',
        yardstick: `${(bytes / 1e6 / seconds).toFixed(0)} MB/s to the local node`,
        ratio: bytes / 1e6 / seconds / 1,
        note: `reported only; ${((used / count) * 1e6).toFixed(0)} µs of CPU per item`,
      },
      {
        // An item's bytes go to a blob (or the database) once, when it is taken in.
        name: 'times an item byte is written, taken in and bundled',
        value: 1 + written / bytes,
        unit: '×',
        yardstick: 'twice',
        ratio: 2 / (1 + written / bytes),
        bar: 1,
        note: `with database pages and file metadata ${((takingIn + written) / bytes).toFixed(1)} bytes per byte`,
      },
    ];
  } finally {
    await bundling.close();
    node.process.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

const remoteCount = 3_000;
/** A bundle of so many is kept in memory between its two passes. */
const remoteBundle = 500;
const tripMs = 20;

async function startServer(script: string, ...args: string[]): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(join(import.meta.dirname, script), args);
  return {
    child,
    url: await heard(child, (report) => (report.kind === 'listening' ? report.url : undefined)),
  };
}

function heard<T>(child: ChildProcess, find: (report: ServerReport) => T | undefined): Promise<T> {
  return new Promise((done, failed) => {
    const listen = (report: ServerReport) => {
      const value = find(report);
      if (value === undefined) return;
      child.off('message', listen);
      done(value);
    };
    child.on('message', listen);
    child.once('exit', () => failed(new Error('a process of the bench ended')));
  });
}

function cpuOf(child: ChildProcess): Promise<number> {
  const answer = heard(child, (report) => (report.kind === 'cpu' ? report.seconds : undefined));
  child.send('cpu');
  return answer;
}

interface RemoteRun {
  readonly perSecond: number;
  /** Of the bundlers, for one item. */
  readonly cpuMicros: number;
}

async function remoteRun(processes: number): Promise<RemoteRun> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-bundle-'));
  const node = await startNode(join(folder, 'node'));
  const store = await startServer('bundling-store.server.ts', String(tripMs));
  const children: ChildProcess[] = [];
  const { sql, close } = await openBundling({ folder, store: undefined, node: node.url, maxItems: 1 });
  try {
    const blobs = await S3BlobStore.open(store.url);
    await takeIn({ sql, blobs }, remoteCount);
    await blobs.close();
    store.child.send('far');
    for (let started = 0; started < processes; started += 1)
      children.push(
        (await startServer('bundling.server.ts', folder, store.url, node.url, String(remoteBundle))).child,
      );
    const before = await Promise.all(children.map(cpuOf));
    const start = performance.now();
    for (const child of children) child.send('begin');
    for (let left = remoteCount; left > 0; await sleep(20)) {
      const row = await sql.get<{ items: number | null }>(
        "SELECT SUM(item_count) AS items FROM upload_bundles WHERE state = 'seeded' OR state = 'permanent'",
      );
      left = remoteCount - (row?.items ?? 0);
    }
    const seconds = (performance.now() - start) / 1_000;
    const after = await Promise.all(children.map(cpuOf));
    const used = after.reduce((sum, one, index) => sum + one - (before[index] ?? 0), 0);
    return { perSecond: remoteCount / seconds, cpuMicros: (used / remoteCount) * 1e6 };
  } finally {
    for (const child of [...children, store.child, node.process]) child.kill('SIGKILL');
    await close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function remoteBench(): Promise<Measurement[]> {
  const one = await remoteRun(1);
  const two = await remoteRun(2);
  return [
    {
      name: 'items of 10 KiB from a store 20 ms away, one process',
      value: one.perSecond,
      unit: 'items/s',
      yardstick: '350 items/s, what one core takes in',
      ratio: one.perSecond / 350,
      bar: 1,
      note: `${one.cpuMicros.toFixed(0)} µs of CPU per item`,
    },
    {
      name: 'the same, two processes',
      value: two.perSecond,
      unit: 'items/s',
      yardstick: 'one process',
      ratio: two.perSecond / one.perSecond,
      bar: 1,
      note: `${two.cpuMicros.toFixed(0)} µs of CPU per item; store, node and bench share the cores`,
    },
  ];
}

export const benches: Bench[] = [
  { name: 'upload/bundling', run: bundlingBench },
  { name: 'upload/bundling-remote', run: remoteBench },
];
