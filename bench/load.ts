/**
 * How fast is a server? The server runs in a process of its own, and so does the load on it, so that a figure is
 * the server's. The robust figure is requests per second of CPU time of the server's process, compared with a
 * yardstick loaded in turn with it, a moment each; the ratio is the median over all pairs of moments, so it hardly
 * moves when something else is busy.
 *
 * A server script starts its server, then calls `reportServer(url)` from `bench/report-server.ts`.
 */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadOrder, LoadOutcome, LoadTarget } from './load-process.ts';
import type { ServerReport } from './report-server.ts';

export interface ServerUnderTest {
  /** A script that starts the server and reports its address; ended after the measurement. */
  readonly script?: string | URL;
  /** So many processes of the script, one unless given; connections are spread over them evenly. */
  readonly processes?: number;
  /** Of all, or of each process. */
  readonly args?: readonly string[] | ((process: number) => readonly string[]);
  readonly env?: Readonly<Record<string, string>>;
  /** All its processes share this core. */
  readonly core?: number;
  /** What runs the script; this Node unless given. */
  readonly execPath?: string;
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
  /** Instead of a body: each request carries a signed data item of its own. */
  readonly items?: LoadTarget['items'];
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
  /** Of its first process. */
  readonly url: string;
  /** Of all its processes. */
  readonly urls: readonly string[];
  /** CPU seconds of the server's processes so far; NaN for a server that is not ours. */
  cpuSeconds(): Promise<number>;
}

export async function startServer(server: ServerUnderTest): Promise<RunningServer> {
  const { script, processes = 1 } = server;
  if (script === undefined) {
    const { url } = server;
    if (url === undefined) throw new Error('a script or a url');
    return { url, urls: [url], cpuSeconds: async () => Number.NaN, async [Symbol.asyncDispose]() {} };
  }
  const children: ChildProcess[] = [];
  const argsOf = (number: number) =>
    typeof server.args === 'function' ? server.args(number) : (server.args ?? []);
  const start = async (number: number): Promise<string> => {
    const child = fork(script, argsOf(number), {
      ...onCore(server.core),
      ...(server.execPath !== undefined && { execPath: server.execPath, execArgv: [] }),
      env: { ...process.env, ...server.env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    children.push(child);
    return (await nextMessage<ServerReport & { kind: 'listening' }>(child)).url;
  };
  // The first makes what all share.
  const url = await start(0);
  const others = await Promise.all(Array.from({ length: processes - 1 }, (_, index) => start(index + 1)));
  return {
    url,
    urls: [url, ...others],
    async cpuSeconds() {
      const told = await Promise.all(
        children.map(async (child) => {
          // Of a server that is busy, the system tells sooner than the server itself.
          const known = threadSeconds(child.pid);
          if (known !== undefined) return known;
          child.send('cpu');
          return (await nextMessage<ServerReport & { kind: 'cpu' }>(child)).seconds;
        }),
      );
      return told.reduce((sum, seconds) => sum + seconds, 0);
    },
    async [Symbol.asyncDispose]() {
      const exited = children.map((child) => once(child, 'exit'));
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(exited);
    },
  };
}

const taskset = '/usr/bin/taskset';

/** How to start a process that has one core; where the system cannot do that it has all. */
function onCore(core: number | undefined): Pick<ForkOptions, 'execPath' | 'execArgv'> {
  if (core === undefined || !existsSync(taskset)) return {};
  return { execPath: taskset, execArgv: ['--cpu-list', String(core), process.execPath] };
}

/** CPU seconds of all threads of a process, to the nanosecond; undefined where the system does not tell. */
function threadSeconds(pid: number | undefined): number | undefined {
  try {
    const tasks = `/proc/${pid}/task`;
    const times = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/schedstat`, 'utf8'));
    return times.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1e9;
  } catch {
    return undefined;
  }
}

interface Loaded {
  readonly server: RunningServer;
  readonly load: LoadOptions;
  /** Which of the others it is compared with, by its place; the first where nothing is said. */
  readonly against?: number;
  /** CPU seconds so far of what the server leans on: its database. */
  besideCpuSeconds?(): number;
}

export interface LoadComparison extends LoadFigures {
  /** Requests per CPU second over those of the server it is compared with in the turn beside: the median. */
  readonly ratio: number;
  /** Milliseconds of CPU of what the server leans on, for one request; NaN where nothing is counted. */
  readonly besideCpuMs: number;
}

export interface LoadTimes extends Pick<LoadOptions, 'seconds' | 'warmSeconds'> {
  readonly turnMs?: number;
  /** Each process is loaded alone before until it has used so much: all are compiled equally well. */
  readonly warmCpuSeconds?: number;
  /** The load has this core. */
  readonly core?: number;
}

/** Servers that run, loaded in turn. */
export async function compareRunning(loaded: readonly Loaded[], times: LoadTimes): Promise<LoadComparison[]> {
  const measured = await measure(loaded, times);
  return measured.map((turns, place) => {
    const base = measured[loaded[place]?.against ?? 0];
    const ratios = turns.map((turn, index) => perCpuSecond(turn) / perCpuSecond(base?.[index] ?? turn));
    const beside = turns.reduce((sum, turn) => sum + turn.besideCpuSeconds, 0);
    const told = figures(turns);
    return { ...told, ratio: median(ratios), besideCpuMs: (beside * 1_000) / told.requests };
  });
}

async function measure(loaded: readonly Loaded[], times: LoadTimes): Promise<Turn[][]> {
  const { warmSeconds = 1.5, seconds = 2, turnMs = 100, warmCpuSeconds = 0 } = times;
  const turns = (duration: number) => Math.max(1, Math.round((duration * 1000) / turnMs));
  const child = fork(join(import.meta.dirname, 'load-process.ts'), [], {
    ...onCore(times.core),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const order = async <T>(what: LoadOrder): Promise<T> => {
    child.send(what);
    return nextMessage<T>(child);
  };
  try {
    await order({ kind: 'open', targets: loaded.map(({ server, load }) => target(server.urls, load)) });
    const load = async (index: number): Promise<LoadOutcome> => {
      await order({ kind: 'prepare', target: index });
      return order({ kind: 'turn', target: index, milliseconds: turnMs });
    };
    for (const [index, { server }] of loaded.entries()) {
      const until = (await server.cpuSeconds()) + warmCpuSeconds * server.urls.length;
      while ((await server.cpuSeconds()) < until) await load(index);
    }
    const measured: Turn[][] = loaded.map(() => []);
    const warm = turns(warmSeconds);
    for (let round = 0; round < warm + turns(seconds); round++) {
      for (const [index, { server, besideCpuSeconds = () => Number.NaN }] of loaded.entries()) {
        await order({ kind: 'prepare', target: index });
        const beside = besideCpuSeconds();
        const before = await server.cpuSeconds();
        const outcome = await order<LoadOutcome>({ kind: 'turn', target: index, milliseconds: turnMs });
        const cpuSeconds = (await server.cpuSeconds()) - before;
        const turn = { ...outcome, cpuSeconds, besideCpuSeconds: besideCpuSeconds() - beside };
        if (round >= warm) measured[index]?.push(turn);
      }
    }
    return measured;
  } finally {
    child.kill('SIGKILL');
  }
}

interface Turn extends LoadOutcome {
  readonly cpuSeconds: number;
  readonly besideCpuSeconds: number;
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

function target(urls: readonly string[], options: LoadOptions): LoadTarget {
  return {
    urls,
    paths: options.paths ?? [options.path],
    method: options.method ?? 'GET',
    headers: options.headers ?? {},
    body: options.body,
    items: options.items,
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
