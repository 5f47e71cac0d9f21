/** The gateway alone, as an operator starts it: how long until it answers, and what it holds when nobody asks. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningStack, startStack } from '../test/support/stack.ts';
import type { Bench, Measurement } from './bench.ts';

/** What the whole stack may take. */
const startBarMs = 3_000;
const memoryBarMiB = 250;
const idleMs = 2_000;

export const benches: Bench[] = [{ name: 'gateway/start', run: startAndWeigh }];

async function startAndWeigh(): Promise<Measurement[]> {
  // The first start makes keys and databases; the second is what an operator's restart costs.
  const first = await timedStart();
  await first.stack.end();
  const second = await timedStart(first.stack.dataDir);
  const { stack } = second;
  await sleep(idleMs);
  const memory = residentMiB(stack.process.pid);
  await stack.end();
  await first.stack.stop();
  return [
    ...started('first start to the first answer', first),
    ...started('next start to the first answer', second),
    {
      name: 'memory when idle, the local node beside it',
      value: memory,
      unit: 'MiB',
      yardstick: `${memoryBarMiB} MiB`,
      ratio: memoryBarMiB / memory,
      bar: 1,
    },
  ];
}

/** The processor's time, of all threads, is told beside it: it says more of us where others are at work too. */
function started(name: string, { ms, cpuMs }: Started): Measurement[] {
  const yardstick = `${startBarMs} ms`;
  return [
    { name, value: ms, unit: 'ms', yardstick, ratio: startBarMs / ms, bar: 1 },
    { name: `${name}, processor`, value: cpuMs, unit: 'ms', yardstick, ratio: startBarMs / cpuMs },
  ];
}

interface Started {
  readonly stack: RunningStack;
  readonly ms: number;
  readonly cpuMs: number;
}

/** From the command to a block out of its own index. */
async function timedStart(dataDir?: string): Promise<Started> {
  const before = performance.now();
  const stack = await startStack({ only: ['gateway'], ...(dataDir !== undefined && { dataDir }) });
  const query = '{ blocks(first: 1) { edges { node { id height } } } }';
  for (;;) {
    const answer = await fetch(`${stack.urls.gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    if ((await answer.text()).includes('"height"')) {
      return { stack, ms: performance.now() - before, cpuMs: cpuMs(stack.process.pid) };
    }
    await sleep(5);
  }
}

/** User and system time in hundredths of a second, the fields 14 and 15 of the kernel's line. */
function cpuMs(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function residentMiB(pid: number | undefined): number {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}
