/**
 * How fast is a server? The server runs in a process of its own, and so does the load on it, so that a figure is
 * the server's. The robust figure is requests per second of CPU time of the server's process, compared with a
 * yardstick loaded in turn with it, a moment each; the ratio is the median over all pairs of moments, so it hardly
 * moves when something else is busy.
 *
 * A server script starts its server, then calls `reportServer(url)` from `bench/report-server.ts`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoadOrder, LoadOutcome, LoadTarget } from './load-process.ts';
import type { ServerReport } from './report-server.ts';

export interface ServerUnderTest {
  /** A script that starts the server and reports its address; ended after the measurement. */
  readonly script?: string | URL;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Or a server that runs already; then there is no figure per CPU second (NaN). */
  readonly url?: string;
}

export interface LoadOptions {
  readonly path: string;
  /** Several paths, asked for in turn, instead of the one. */
  readonly paths?: readonly string[];
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly connections?: number;
  readonly seconds?: number;
  /** Load before the measurement, to let the compiler settle. */
  readonly warmSeconds?: number;
  /** Other statuses than these fail the measurement. */
  readonly expect?: readonly number[];
}

export interface LoadFigures {
  readonly requestsPerSecond: number;
  readonly requestsPerCpuSecond: number;
  readonly megabytesPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly requests: number;
}

/** Starts the server, loads it, stops it. */
export async function measureServer(options: ServerUnderTest & LoadOptions): Promise<LoadFigures> {
  await using server = await startServer(options);
  const [turns = []] = await measure([{ server, load: options }], options);
  return figures(turns);
}

export interface Comparison {
  readonly candidate: LoadFigures;
  readonly yardstick: LoadFigures;
  /** Requests per CPU second of the candidate over those of the yardstick in the turn beside: the median. */
  readonly ratio: number;
}

/**
 * Both servers side by side, loaded in turn. Each may differ from the common load, for example in its path. A
 * process may be lucky or unlucky in how its code is compiled for as long as it lives, so there may be several
 * rounds with new processes; the one with the median ratio is told.
 */
export async function compareServers(options: {
  readonly candidate: ServerUnderTest & Partial<LoadOptions>;
  readonly yardstick: ServerUnderTest & Partial<LoadOptions>;
  readonly load: LoadOptions;
  readonly rounds?: number;
}): Promise<Comparison> {
  const rounds: Comparison[] = [];
  while (rounds.length < (options.rounds ?? 1)) rounds.push(await compareOnce(options));
  rounds.sort((left, right) => left.ratio - right.ratio);
  const middle = rounds[Math.floor(rounds.length / 2)];
  if (middle === undefined) throw new Error('at least one round');
  return middle;
}

async function compareOnce(options: Parameters<typeof compareServers>[0]): Promise<Comparison> {
  await using mine = await startServer(options.candidate);
  await using base = await startServer(options.yardstick);
  const [mineTurns = [], baseTurns = []] = await measure(
    [
      { server: mine, load: { ...options.load, ...options.candidate } },
      { server: base, load: { ...options.load, ...options.yardstick } },
    ],
    options.load,
  );
  const ratios = mineTurns.map((turn, index) => perCpuSecond(turn) / perCpuSecond(baseTurns[index] ?? turn));
  return { candidate: figures(mineTurns), yardstick: figures(baseTurns), ratio: median(ratios) };
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  /** CPU seconds of the server's process so far; NaN for a server that is not ours. */
  cpuSeconds(): Promise<number>;
}

export async function startServer(server: ServerUnderTest): Promise<RunningServer> {
  if (server.script === undefined) {
    if (server.url === undefined) throw new Error('a script or a url');
    return { url: server.url, cpuSeconds: async () => Number.NaN, async [Symbol.asyncDispose]() {} };
  }
  const child = fork(server.script, [...(server.args ?? [])], {
    env: { ...process.env, ...server.env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const { url } = await nextMessage<ServerReport & { kind: 'listening' }>(child);
  return {
    url,
    async cpuSeconds() {
      child.send('cpu');
      const { seconds } = await nextMessage<ServerReport & { kind: 'cpu' }>(child);
      return seconds;
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

interface Loaded {
  readonly server: RunningServer;
  readonly load: LoadOptions;
}

const turnMs = 100;

async function measure(loaded: readonly Loaded[], times: LoadOptions): Promise<Turn[][]> {
  const { warmSeconds = 1.5, seconds = 2 } = times;
  const turns = (duration: number) => Math.max(1, Math.round((duration * 1000) / turnMs));
  const child = fork(join(import.meta.dirname, 'load-process.ts'), [], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const order = async <T>(what: LoadOrder): Promise<T> => {
    child.send(what);
    return nextMessage<T>(child);
  };
  try {
    await order({ kind: 'open', targets: loaded.map(({ server, load }) => target(server.url, load)) });
    const measured: Turn[][] = loaded.map(() => []);
    const warm = turns(warmSeconds);
    for (let round = 0; round < warm + turns(seconds); round++) {
      for (const [index, { server }] of loaded.entries()) {
        const before = await server.cpuSeconds();
        const outcome = await order<LoadOutcome>({ kind: 'turn', target: index, milliseconds: turnMs });
        const cpuSeconds = (await server.cpuSeconds()) - before;
        if (round >= warm) measured[index]?.push({ ...outcome, cpuSeconds });
      }
    }
    return measured;
  } finally {
    child.kill('SIGKILL');
  }
}

interface Turn extends LoadOutcome {
  readonly cpuSeconds: number;
}

function figures(turns: readonly Turn[]): LoadFigures {
  const sum = (of: (turn: Turn) => number) => turns.reduce((total, turn) => total + of(turn), 0);
  const requests = sum((turn) => turn.requests);
  const seconds = sum((turn) => turn.seconds);
  const latencies = turns.flatMap((turn) => turn.latencies).sort((left, right) => left - right);
  return {
    requests,
    requestsPerSecond: requests / seconds,
    requestsPerCpuSecond: median(turns.map(perCpuSecond)),
    megabytesPerSecond: sum((turn) => turn.bytes) / 1e6 / seconds,
    p50: at(latencies, 0.5),
    p99: at(latencies, 0.99),
  };
}

function perCpuSecond(turn: Turn): number {
  return turn.requests / turn.cpuSeconds;
}

function median(values: readonly number[]): number {
  return at(
    values.toSorted((left, right) => left - right),
    0.5,
  );
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

function target(url: string, options: LoadOptions): LoadTarget {
  return {
    url,
    paths: options.paths ?? [options.path],
    method: options.method ?? 'GET',
    headers: options.headers ?? {},
    body: options.body,
    connections: options.connections ?? 32,
    expect: options.expect ?? [200],
  };
}

/** The child's next message; its end without one is a failure. Both scripts of ours say what they promise. */
function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown): void => {
      child.off('exit', onExit);
      resolve(message as T);
    };
    const onExit = (code: number | null): void => {
      child.off('message', onMessage);
      reject(new Error(`${child.spawnargs.slice(1).join(' ')} ended with ${code}`));
    };
    child.once('message', onMessage);
    child.once('exit', onExit);
  });
}
