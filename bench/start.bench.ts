/**
 * How long until a packed program answers, and what it then holds. The yardstick is `node -e 0`, run in the same
 * sitting: a busy machine slows both.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { packageName, packTurnpike } from '../test/support/pack.ts';
import { freePorts } from '../test/support/stack.ts';
import type { Bench, Measurement } from './bench.ts';

const root = resolve(import.meta.dirname, '..');
const runs = 5;
const memoryBarMiB = 200;

interface Case {
  readonly name: string;
  readonly surfaces: readonly string[];
  readonly packedBarMs: number;
  readonly checkoutBarMs?: number;
}

const cases: readonly Case[] = [
  { name: 'whole stack', surfaces: [], packedBarMs: 1_600, checkoutBarMs: 2_000 },
  { name: 'gateway', surfaces: ['gateway'], packedBarMs: 1_000 },
  { name: 'router', surfaces: ['router'], packedBarMs: 700 },
];

export const benches: Bench[] = [{ name: 'start/packed', run: measureAll }];

async function measureAll(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-start-'));
  try {
    const packed = install(folder);
    const found: Measurement[] = [];
    for (const { name, surfaces, packedBarMs, checkoutBarMs } of cases) {
      const best = await bestOf(packed, surfaces, folder);
      found.push(timeOf(`${name}, packed`, best, packedBarMs));
      found.push({
        name: `${name}, packed: memory`,
        value: best.memoryMiB,
        unit: 'MiB',
        yardstick: `${memoryBarMiB} MiB`,
        ratio: memoryBarMiB / best.memoryMiB,
        bar: 1,
      });
      const checkout = await bestOf(join(root, 'bin/turnpike.js'), surfaces, folder);
      found.push(timeOf(`${name}, checkout`, checkout, checkoutBarMs));
    }
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The program as it is in an installed package. */
function install(folder: string): string {
  const tarball = packTurnpike(folder);
  const options = { cwd: folder, stdio: 'ignore' } as const;
  execFileSync('npm', ['install', '--omit=optional', '--no-audit', '--no-fund', tarball], options);
  return join(folder, 'node_modules', packageName, 'bin/turnpike.js');
}

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
  readonly nodeMs: number;
  readonly memoryMiB: number;
}

/** The first start makes keys, databases and compiled code, and is left out. */
async function bestOf(program: string, surfaces: readonly string[], folder: string): Promise<Start> {
  const dataDir = mkdtempSync(join(folder, 'data-'));
  await start(program, surfaces, dataDir);
  const found: Start[] = [];
  for (let run = 0; run < runs; run++) found.push(await start(program, surfaces, dataDir));
  return found.reduce((best, one) => (one.ms < best.ms ? one : best));
}

async function start(program: string, surfaces: readonly string[], dataDir: string): Promise<Start> {
  const before = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  const begun = performance.now();
  const child = spawn(process.execPath, [program, 'start', '--json', ...surfaces], {
    env: { ...process.env, ...freePorts(), DATA_DIR: dataDir, LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const rows: { name: string; url: string }[] = JSON.parse(String(line));
  for (const { name, url } of rows) {
    if (name === 'gateway') await firstBlock(url);
    if (name === 'router') await (await fetch(`${url}/router/health`)).text();
  }
  const ms = performance.now() - begun;
  const memoryMiB = residentKiB(child.pid) / 1024;
  const cpuMs = cpuMsOf(child.pid);
  child.kill('SIGTERM');
  await once(child, 'exit');
  return { ms, cpuMs, nodeMs: begun - before, memoryMiB };
}

/** A good answer of the gateway is a block out of its own index. */
async function firstBlock(url: string): Promise<void> {
  const body = JSON.stringify({ query: '{ blocks(first: 1) { edges { node { height } } } }' });
  for (;;) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/graphql`, { method: 'POST', headers, body });
    if ((await answer.text()).includes('"height"')) return;
  }
}

function timeOf(name: string, { ms, cpuMs, nodeMs }: Start, barMs?: number): Measurement {
  const note = `${Math.round(cpuMs)} ms of the processor; ${(ms / nodeMs).toFixed(1)} × node -e 0 (${Math.round(nodeMs)} ms)`;
  if (barMs === undefined)
    return { name, value: ms, unit: 'ms', yardstick: 'node -e 0', ratio: nodeMs / ms, note };
  return { name, value: ms, unit: 'ms', yardstick: `${barMs} ms`, ratio: barMs / ms, bar: 1, note };
}

function residentKiB(pid: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** User and system time in hundredths of a second, the fields 14 and 15 of the kernel's line. */
function cpuMsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
