/** Index files: how fast they are written and looked into, and how fast they are served. */
import { createHash, hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findInCdb64 } from '../src/formats/cdb64/find.ts';
import { headerBytes } from '../src/formats/cdb64/layout.ts';
import { encodeRootEntry } from '../src/formats/cdb64/root-entry.ts';
import { Cdb64Writer } from '../src/formats/cdb64/writer.ts';
import { writeBand } from '../src/gateway/published-indexes/bands/write.ts';
import { PagedFile } from '../src/gateway/published-indexes/subscriber/paged-file.ts';
import type { Bench, Measurement } from './bench.ts';
import { compareServers } from './load.ts';

const records = 1_000_000;
/**
 * A core that does nothing else hashes 470,000 keys a second here, so that 500,000 records and 100,000 look-ups a
 * second are these ratios; they hold on a machine that is busy or of another make.
 */
const buildBar = 1.07;
const lookUpBar = 0.22;
const script = join(import.meta.dirname, 'indexes.server.ts');

export const benches: Bench[] = [
  { name: 'indexes/cdb64', run: files },
  { name: 'indexes/band', run: band },
  { name: 'indexes/serve', run: serve },
];

/** Ids in order: the first bytes count up, the rest is a digest. */
function keyOf(at: number): Buffer {
  const key = createHash('sha256').update(String(at)).digest();
  key.writeUInt32BE(at, 0);
  return key;
}

async function files(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  try {
    const keys = Array.from({ length: records }, (_, at) => keyOf(at));
    const root = keyOf(records);
    const hashed = time(() => {
      for (const key of keys) hash('sha256', key, 'buffer');
    });
    const add = async (writer: Cdb64Writer, count: number, waited: () => void) => {
      for (const [at, key] of keys.slice(0, count).entries()) {
        const value = encodeRootEntry({ path: [root], offsets: { item: at, data: at + 1_100, size: 5_000 } });
        const waiting = writer.add(key, value);
        if (waiting === undefined) continue;
        await waiting;
        waited();
      }
    };
    const warm = await open(join(folder, 'warm.cdb'), 'w+');
    const first = new Cdb64Writer(warm);
    await add(first, records / 5, () => {});
    await first.finish();
    await warm.close();
    const file = await open(join(folder, 'index.cdb'), 'w+');
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const started = cpuMs();
    const writer = new Cdb64Writer(file);
    await add(writer, records, () => {
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    });
    await writer.finish();
    const built = records / ((cpuMs() - started) / 1000);
    const header = Buffer.alloc(headerBytes);
    await file.read(header, 0, headerBytes, 0);
    const paged = new PagedFile(file, await file.stat(), () => {});
    const asked = keys.filter((_, at) => at % 500 === 0);
    for (const key of asked) await findInCdb64(paged.read, header, key);
    const cold = paged.reads / asked.length;
    const lookUps = 200_000;
    const start = cpuMs();
    for (let at = 0; at < lookUps; at += 1) await findInCdb64(paged.read, header, asked[at % asked.length]!);
    const found = lookUps / ((cpuMs() - start) / 1000);
    await paged.close();
    const yardstick = records / (hashed / 1000);
    return [
      {
        name: 'build, records in order',
        value: built,
        unit: 'records/cpu-s',
        yardstick: 'SHA-256 of the key',
        ratio: built / yardstick,
        bar: buildBar,
        note: `${(most / 1024 ** 2).toFixed(0)} MiB of buffers at most while adding`,
      },
      {
        name: 'look-up, warm',
        value: found,
        unit: 'look-ups/cpu-s',
        yardstick: 'SHA-256 of the key',
        ratio: found / yardstick,
        bar: lookUpBar,
        note: `${cold.toFixed(2)} reads per look-up when cold`,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As `index build` writes it: one file per first byte, tables, synced, hashed; given the records in order. */
async function band(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  try {
    const keys = Array.from({ length: records }, (_, at) => keyOf(at * 4_294));
    const root = keyOf(1);
    const hashAll = () =>
      time(() => {
        for (const key of keys) hash('sha256', key, 'buffer');
      });
    async function* batches(count: number) {
      for (let from = 0; from < count; from += 1_000)
        yield keys.slice(from, from + 1_000).map((key, at) => ({
          key,
          value: encodeRootEntry({
            path: [root],
            offsets: { item: from + at, data: from + at + 1_100, size: 5_000 },
          }),
        }));
    }
    const write = (count: number, height: number) =>
      writeBand({
        indexFolder: folder,
        heightRange: [height, null],
        kind: 'd',
        tag: 'bench',
        supersedes: [],
        existing: [],
        createdAt: '2026-01-01T00:00:00.000Z',
        records: batches(count),
      });
    await write(records / 5, 1);
    const before = hashAll();
    const started = { cpu: cpuMs(), wall: performance.now() };
    await write(records, 0);
    const cpu = records / ((cpuMs() - started.cpu) / 1000);
    const wall = records / ((performance.now() - started.wall) / 1000);
    // Taken on both sides: what else the machine does changes in between.
    const hashed = (before + hashAll()) / 2;
    return [
      {
        name: 'band of 256 files',
        value: cpu,
        unit: 'records/cpu-s',
        yardstick: 'SHA-256 of the key',
        ratio: cpu / (records / (hashed / 1000)),
        bar: buildBar,
        note: `${Math.round(wall).toLocaleString('en')} records/s by the clock, whatever else ran`,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function time(work: () => void): number {
  const start = cpuMs();
  work();
  return cpuMs() - start;
}

/** CPU time of this process: what else the machine does hardly moves it. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function serve(): Promise<Measurement[]> {
  const { candidate, ratio } = await compareServers({
    candidate: { script },
    yardstick: { script, args: ['bare'], path: '/', headers: {} },
    load: { path: '/gw/indexes/bench/band/00.cdb', connections: 8, expect: [200] },
  });
  return [
    {
      name: 'file of 1 MiB by name',
      value: candidate.requestsPerCpuSecond,
      unit: 'req/cpu-s',
      yardstick: 'createReadStream().pipe(res)',
      ratio,
      bar: 1.2,
    },
  ];
}
