/** Programs of the system that tests start as servers: where they are, as whom they run, how they end. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { chownSync, globSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';

const folders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Where a program is; undefined where it is not installed. */
export const findProgram = (name: string): string | undefined =>
  globSync(folders.map((folder) => join(folder, name))).at(0);

/**
 * Why a test of these programs is skipped, by package and program; undefined where all are installed. In CI a missing
 * one is an error: there they are all installed first.
 */
export function skipWithout(programs: Readonly<Record<string, string | undefined>>): string | undefined {
  const missing = Object.keys(programs).filter((name) => programs[name] === undefined);
  if (missing.length === 0) return undefined;
  const needs = `needs ${missing.join(', ')}`;
  if (process.env.CI !== undefined && process.env.CI !== '') throw new Error(`this test ${needs}`);
  return `SKIPPED: ${needs}`;
}

/** Servers of databases refuse to run as root: then as the user that Debian's package made. */
export interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

export function runAs(user: string): RunAs {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((flag) => {
    const told = spawnSync('id', [flag, user], { encoding: 'utf8' });
    if (told.status !== 0) throw new Error(`there is no user ${user}: ${told.stderr}`);
    return Number(told.stdout);
  });
  return { uid: uid!, gid: gid! };
}

/** A temporary folder that belongs to whoever runs the server. */
export function serverFolder(name: string, { uid, gid }: RunAs): string {
  const folder = mkdtempSync(join(tmpdir(), `turnpike-${name}-`));
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

/** Runs a program to its end without holding up the test; rejects with what it said. */
export function runProgram(file: string, args: readonly string[], cwd: string, as: RunAs): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, args, { ...as, cwd, encoding: 'utf8', timeout: 120_000 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trim());
      else reject(new Error(`${file} ${args.join(' ')}: ${stderr}${stdout}`, { cause: error }));
    });
  });
}

/** A server that stays in the foreground, as one process. */
export class ServerProcess {
  readonly #start: () => ChildProcess;
  #child: ChildProcess | undefined;
  #output = '';

  constructor(file: string, args: readonly string[], cwd: string, as: RunAs) {
    this.#start = () => spawn(file, args, { ...as, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Resolves when `isReady` does not throw or answer false any more. */
  async start(name: string, isReady: () => Promise<boolean>): Promise<void> {
    const child = this.#start();
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (bytes: Buffer) => {
        this.#output = `${this.#output}${bytes}`.slice(-10_000);
      });
    }
    let failure: Error | undefined;
    child.once('error', (error) => {
      failure = error;
    });
    child.once('exit', (code) => {
      failure ??= new Error(`${name} ended with ${code}: ${this.#output}`);
    });
    await eventually(`${name} answers`, () => {
      if (failure !== undefined) throw failure;
      return isReady().catch(() => false);
    });
  }

  get pid(): number | undefined {
    const child = this.#child;
    return child?.exitCode === null && child.signalCode === null ? child.pid : undefined;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.pid !== undefined) this.#child?.kill(signal);
  }

  /** Resolves when it is gone. */
  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.pid === undefined) return;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill(signal);
    await gone;
  }
}

/** A process and all that it started, the process first. */
export function processTree(pid: number): number[] {
  let children: string;
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  } catch {
    return [];
  }
  return [
    pid,
    ...children
      .split(' ')
      .filter(Boolean)
      .flatMap((child) => processTree(Number(child))),
  ];
}

/** Signals those that are still there. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended meanwhile.
    }
  }
}
