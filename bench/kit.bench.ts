/** The network as a test starts it: how long until it is there, what it holds, and how many fit at once. */
import { readdirSync, readFileSync } from 'node:fs';
import { startTurnpike, type Turnpike } from '../src/kit/testing.ts';
import type { Bench, Measurement } from './bench.ts';

const startBarMs = 1_500;
const memoryBarMiB = 150;
const atOnce = 20;

export const benches: Bench[] = [
  { name: 'kit/start', run: startAndWeigh },
  { name: 'kit/many', run: startMany },
];

async function startAndWeigh(): Promise<Measurement[]> {
  // The first start compiles the program; tests are run again and again.
  await (await startTurnpike()).stop();
  const times: number[] = [];
  let memory = 0;
  for (let round = 0; round < 5; round += 1) {
    const before = performance.now();
    const turnpike = await startTurnpike();
    times.push(performance.now() - before);
    memory = Math.max(memory, residentMiB(childrenOf(process.pid)));
    await turnpike.stop();
  }
  const before = performance.now();
  const thread = await startTurnpike({ run: 'thread' });
  const threadMs = performance.now() - before;
  await thread.stop();
  return [
    timed('start in a child process, median of five', median(times)),
    {
      name: 'memory after start',
      value: memory,
      unit: 'MiB',
      yardstick: `${memoryBarMiB} MiB`,
      ratio: memoryBarMiB / memory,
      bar: 1,
    },
    timed('start in a thread', threadMs),
  ];
}

async function startMany(): Promise<Measurement[]> {
  const before = performance.now();
  const networks = await Promise.all(Array.from({ length: atOnce }, () => startTurnpike()));
  const ms = performance.now() - before;
  const heights = await Promise.all(
    networks.map(async (turnpike: Turnpike) => (await turnpike.mine()).height),
  );
  const memory = residentMiB(childrenOf(process.pid));
  await Promise.all(networks.map((turnpike) => turnpike.stop()));
  if (new Set(networks.map(({ url }) => url)).size !== atOnce || heights.some((height) => height < 1)) {
    throw new Error('not every network was one of its own');
  }
  return [
    {
      name: `${atOnce} networks at once, until all answer`,
      value: ms / 1_000,
      unit: 's',
      yardstick: `${atOnce} × ${startBarMs} ms`,
      ratio: (atOnce * startBarMs) / ms,
      bar: 1,
      note: `${Math.round(memory / atOnce)} MiB each`,
    },
  ];
}

const timed = (name: string, ms: number): Measurement => ({
  name,
  value: ms,
  unit: 'ms',
  yardstick: `${startBarMs} ms`,
  ratio: startBarMs / ms,
  bar: 1,
});

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  );
}

/** Of all of them; what they share counts for each. */
function residentMiB(pids: readonly number[]): number {
  const kibs = pids.map((pid) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
  );
  return kibs.reduce((sum, kib) => sum + kib, 0) / 1024;
}
