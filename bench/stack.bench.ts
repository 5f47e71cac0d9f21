/** The whole product as a person meets it: how long until everything answers, and what it then holds. */
import { readFileSync } from 'node:fs';
import { startStack } from '../test/support/stack.ts';
import type { Bench, Measurement } from './bench.ts';

const startBarMs = 3_000;
const memoryBarMiB = 250;

export const benches: Bench[] = [{ name: 'stack/start', run: startAndWeigh }];

async function startAndWeigh(): Promise<Measurement[]> {
  // The first start makes keys and databases; the second is what an operator's restart costs.
  const first = await timedStart();
  const dataDir = first.stack.dataDir;
  await first.stack.end();
  const second = await timedStart(dataDir);
  const memory = residentMiB(second.stack.process.pid);
  await second.stack.end();
  await first.stack.stop();
  return [
    startMeasurement('first start to all answering', first.ms),
    startMeasurement('next start to all answering', second.ms),
    {
      name: 'memory after start',
      value: memory,
      unit: 'MiB',
      yardstick: `${memoryBarMiB} MiB`,
      ratio: memoryBarMiB / memory,
      bar: 1,
    },
  ];
}

function startMeasurement(name: string, ms: number): Measurement {
  return { name, value: ms, unit: 'ms', yardstick: `${startBarMs} ms`, ratio: startBarMs / ms, bar: 1 };
}

async function timedStart(dataDir?: string) {
  const before = performance.now();
  const stack = await startStack(dataDir === undefined ? {} : { dataDir });
  return { stack, ms: performance.now() - before };
}

function residentMiB(pid: number | undefined): number {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}
