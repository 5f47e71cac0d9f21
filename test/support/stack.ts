/** A whole stack as a person starts it: `turnpike start --json` in a process of its own, on free ports. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { variables } from '../../src/config/variables.ts';
import { program } from './program.ts';

const root = resolve(import.meta.dirname, '../..');

export interface RunningStack {
  /** Address by name, as `turnpike start --json` prints them: `arweave`, `payment`, `gateway` … */
  readonly urls: Readonly<Record<string, string>>;
  readonly dataDir: string;
  readonly process: ChildProcess;
  /** Everything the stack wrote to standard error, its log. */
  log(): string;
  /** Sends the signal and answers the exit code once the process is gone. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

export interface StackOptions {
  /** Continue where an earlier stack was; the folder is then kept by `stop`. */
  readonly dataDir?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Only these surfaces, as in `turnpike start payment upload`. */
  readonly only?: readonly string[];
}

/** Every port variable set to 0, so that many stacks can run side by side. */
export function freePorts(): Record<string, string> {
  const names = Object.keys(variables).filter((name) => name === 'PORT' || name.endsWith('_PORT'));
  return Object.fromEntries(names.map((name) => [name, '0']));
}

export async function startStack(options: StackOptions = {}): Promise<RunningStack> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'turnpike-stack-'));
  const child = spawn(process.execPath, [program, 'start', '--json', ...(options.only ?? [])], {
    cwd: root,
    env: { ...process.env, ...freePorts(), DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-1_000_000);
  });
  // Not when it exits: only then is everything there that it wrote.
  const closed = once(child, 'close').then(() => undefined);
  const end = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await closed;
    return child.exitCode;
  };

  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line').then(([line]) => String(line)), closed]);
  if (first === undefined) throw new Error(`the stack did not start:\n${log}`);
  const parsed: unknown = JSON.parse(first);
  return {
    urls: urlsOf(parsed),
    dataDir,
    process: child,
    log: () => log,
    end,
    async stop() {
      await end();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function urlsOf(parsed: unknown): Record<string, string> {
  if (!Array.isArray(parsed)) throw new Error('turnpike start --json did not print an array');
  return Object.fromEntries(parsed.map((row: { name: string; url: string }) => [row.name, row.url]));
}
