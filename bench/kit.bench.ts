/** The network as a test starts it: how long until it is there, what it holds, and how many fit at once. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packTurnpike } from '../test/support/pack.ts';
import type { Bench, Measurement } from './bench.ts';

const startBarMs = 1_500;
const memoryBarMiB = 150;
const atOnce = 20;

export const benches: Bench[] = [{ name: 'kit/start', run: measure }];

type Kit = typeof import('../src/kit/testing.ts');

/** As an app has it: from the packed package, and warm, because tests are run again and again. */
async function measure(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-kit-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{}');
    const tarball = packTurnpike(join(folder, 'packed'));
    execFileSync('npm', ['install', '--no-audit', '--no-fund', tarball], { cwd: folder, stdio: 'ignore' });
    const installed = join(folder, 'node_modules/@turnpike-network/turnpike/dist/testing.js');
    const kit: Kit = await import(pathToFileURL(installed).href);
    await (await kit.startTurnpike()).stop();
    return [...(await startAndWeigh(kit)), ...(await startMany(kit))];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startAndWeigh({ startTurnpike }: Kit): Promise<Measurement[]> {
  const starts: { ms: number; cpuMs: number; memoryMiB: number }[] = [];
  for (let round = 0; round < 5; round += 1) {
    const before = performance.now();
    const turnpike = await startTurnpike();
    const ms = performance.now() - before;
    const children = childrenOf(process.pid);
    starts.push({ ms, cpuMs: cpuMs(children), memoryMiB: residentMiB(children) });
    await turnpike.stop();
  }
  // The quickest says most about the program, and least about what else the machine does.
  const best = starts.reduce((quickest, start) => (start.ms < quickest.ms ? start : quickest));
  const before = performance.now();
  const thread = await startTurnpike({ run: 'thread' });
  const threadMs = performance.now() - before;
  await thread.stop();
  return [
    { ...timed('start in a child process', best.ms), note: `${Math.round(best.cpuMs)} ms of CPU` },
    {
      name: 'memory after start',
      value: best.memoryMiB,
      unit: 'MiB',
      yardstick: `${memoryBarMiB} MiB`,
      ratio: memoryBarMiB / best.memoryMiB,
      bar: 1,
    },
    timed('start in a thread', threadMs),
  ];
}

async function startMany({ startTurnpike }: Kit): Promise<Measurement[]> {
  const before = performance.now();
  const networks = await Promise.all(Array.from({ length: atOnce }, () => startTurnpike()));
  const ms = performance.now() - before;
  const heights = await Promise.all(networks.map(async (turnpike) => (await turnpike.mine()).height));
  const memory = residentMiB(childrenOf(process.pid));
  await Promise.all(networks.map((turnpike) => turnpike.stop()));
  if (new Set(networks.map(({ url }) => url)).size !== atOnce || heights.some((height) => height < 1)) {
    throw new Error('not every network was one of its own');
  }
  return [
    {
      name: `${atOnce} at once, until all answer`,
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

/** Linux counts in hundredths of a second. */
function cpuMs(pids: readonly number[]): number {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, one) => sum + one, 0) * 10;
}
