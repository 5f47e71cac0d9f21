/** The program itself, run in a child process or a worker thread, tied to the life of who started it. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { clearTimeout, setTimeout } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

export interface ProgramOptions {
  readonly run: 'process' | 'thread';
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Called with each line of its log. */
  readonly onLine: (line: string) => void;
}

export interface Program {
  /** The first line it printed: its addresses. */
  readonly firstLine: string;
  /** The newest part of its log. */
  log(): string;
  /** How it ended, where it has ended. */
  ending(): string | undefined;
  /** Lets it finish what is in flight, and resolves when it is gone. */
  stop(): Promise<void>;
}

/** The program while it runs, whichever way it was started. */
interface Runner {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  /** Ends its standard input, or what a thread has in its place, which makes it stop. */
  endInput(): void;
  kill(): void;
  /** Whether it keeps this process from ending. */
  hold(isHeld: boolean): void;
}

const leastMajor = 24;
/** The smallest young generation: a fifth less memory, of which a machine may hold many networks, for the same start. */
const nodeFlags = ['--max-semi-space-size=1'];
/** Of the log, in characters. */
const longestLog = 1_000_000;
/** Longer than the program gives itself to stop. */
const stopTimeoutMs = 40_000;

export async function runProgram(options: ProgramOptions): Promise<Program> {
  const entry = programFile();
  const runner = options.run === 'thread' ? runThread(entry, options) : runProcess(entry, options);
  let log = '';
  let ending: string | undefined;
  void runner.ended.then((how) => {
    ending = how;
  });
  const errorLines = lines(runner.stderr, (line) => {
    log = `${log}${line}\n`.slice(-longestLog);
    options.onLine(line);
  });
  const first = new Promise<string>((resolve) => lines(runner.stdout, resolve));
  const timeout = new Promise<undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), options.timeoutMs);
    void Promise.race([first, runner.ended]).then(() => clearTimeout(timer));
  });
  const outcome = await Promise.race([
    first.then((line) => ({ line })),
    runner.ended.then((how) => ({ how })),
    timeout,
  ]);
  if (outcome === undefined || 'how' in outcome) {
    if (outcome === undefined) runner.kill();
    await errorLines;
    const why = outcome === undefined ? `was not there after ${options.timeoutMs} ms` : outcome.how;
    throw new Error(`Turnpike did not start: it ${why}\n${log.slice(-5_000)}`.trimEnd());
  }
  // A test that forgets to stop it must be able to end; the program then ends by itself.
  runner.hold(false);
  return {
    firstLine: outcome.line,
    log: () => log,
    ending: () => ending,
    async stop() {
      if (ending !== undefined) return;
      runner.hold(true);
      runner.endInput();
      const timer = setTimeout(() => runner.kill(), stopTimeoutMs);
      await runner.ended;
      clearTimeout(timer);
    },
  };
}

/** An older Node has the one that came along with the package run the program. */
function runProcess(entry: string, { args, env }: ProgramOptions): Runner {
  const child = spawn(process.execPath, [...nodeFlags, entry, ...args], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
  });
  // It may be gone before its input is ended.
  child.stdin.on('error', () => {});
  return {
    stdout: child.stdout,
    stderr: child.stderr,
    ended: new Promise((resolve) => {
      child.once('error', (error) => resolve(`could not be run: ${error.message}`));
      child.once('close', (code, signal) =>
        resolve(signal === null ? `ended with code ${code}` : `was ended by ${signal}`),
      );
    }),
    endInput: () => child.stdin.end(),
    kill: () => child.kill('SIGKILL'),
    hold(isHeld) {
      for (const one of [child, child.stdin, child.stdout, child.stderr]) holdOpen(one, isHeld);
    },
  };
}

function runThread(entry: string, { args, env }: ProgramOptions): Runner {
  if (major(process.versions.node) < leastMajor) {
    throw new Error(
      `run: 'thread' needs Node ${leastMajor} or newer, this is ${process.versions.node}; leave it out for a child process`,
    );
  }
  const worker = new Worker(entry, {
    argv: [...args],
    env: { ...env },
    // Those of a test runner are not meant for the program.
    execArgv: [],
    name: 'turnpike',
  });
  // Streams that are asked for in the options would keep this process from ending as long as they are read.
  worker.stdout.unpipe();
  worker.stderr.unpipe();
  let failure: string | undefined;
  worker.on('error', (error) => {
    failure = error.stack ?? error.message;
  });
  return {
    stdout: worker.stdout,
    stderr: worker.stderr,
    ended: new Promise((resolve) => {
      worker.once('exit', (code) => resolve(failure ?? `ended with code ${code}`));
    }),
    endInput: () => worker.postMessage('stop'),
    kill: () => void worker.terminate(),
    hold: (isHeld) => holdOpen(worker, isHeld),
  };
}

/** Pipes of a child are sockets, whose type does not say that they have these. */
function holdOpen(held: object, isHeld: boolean): void {
  const method: unknown = Reflect.get(held, isHeld ? 'ref' : 'unref');
  if (typeof method === 'function') Reflect.apply(method, held, []);
}

/** Hands over each line; resolves when there are no more. */
function lines(stream: Readable, onLine: (line: string) => void): Promise<void> {
  let rest = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) onLine(line);
  });
  stream.resume();
  return new Promise((resolve) => {
    stream.once('close', () => {
      if (rest !== '') onLine(rest);
      resolve();
    });
  });
}

const major = (version: string): number => Number(version.split('.')[0]);

/** `bin/turnpike.js` of the package that this file is in, wherever a build has put this file. */
function programFile(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const file = join(folder, 'bin', 'turnpike.js');
    if (existsSync(file)) return file;
    const parent = dirname(folder);
    if (parent === folder) throw new Error('bin/turnpike.js of the package is missing');
    folder = parent;
  }
}
