import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import {
  type Config,
  freePorts,
  isSet,
  misspeltVariables,
  readProcessConfig,
  redactProcessSecrets,
  retiredVariables,
  type WorldName,
} from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { makeFolder } from '../../kernel/files.ts';
import { urlHost } from '../../kernel/http/server.ts';
import { type LifecycleOptions, startSurfaces } from '../../kernel/lifecycle.ts';
import { createLogger, type Logger } from '../../kernel/log.ts';
import { makeFilesPrivate, privateFolderMode } from '../../kernel/private-files.ts';
import { isFullWithReserve } from '../../storage/disk-reserve.ts';
import { localWallets } from '../../wallets/local-wallets.ts';
import { insistOnWholeRestore } from '../backup/restore-mark.ts';
import { type Command, readArguments, UsageError } from '../command.ts';
import { createLocalControl } from '../local/control.ts';
import { mountControl } from '../local/control-app.ts';
import { describeWallets } from '../local/describe-wallets.ts';
import { LocalStack } from '../local/local-stack.ts';
import { runFile } from '../run-file.ts';
import { insistOnOneWorld } from '../stack/ask-world.ts';
import { markFolder } from '../stack/folder-world.ts';
import { lendStandIns } from '../stack/local-network.ts';
import { checkSettings } from '../stack/settings.ts';
import { traces } from '../stack/tracing.ts';
import { type Address, createStack, readerTopics, type Stack, surfaceNames } from '../stack.ts';
import { stopWhenInputEnds } from '../stop-when-input-ends.ts';
import { temporaryDataDir } from '../temporary-data-dir.ts';
import { Workers } from '../workers/primary.ts';
import { asWorker, type WorkerLife } from '../workers/worker.ts';

export const start: Command = {
  usage: `turnpike start [surface …] [--workers <n>|auto] [--quiet] [--json] [--free-ports] [--temporary] [--until-input-ends]

  surface             only these, of ${surfaceNames.join(', ')}; without any, all
  --workers           so many processes behind the same ports; "auto": one for each core
  --quiet             leave out the wallets of the local network
  --json              print the addresses as one line of JSON
  --free-ports        every port that no variable sets is a free one
  --temporary         keep nothing: a folder in memory unless DATA_DIR names an empty one, removed at the end
  --until-input-ends  stop when standard input ends, so never to outlive the program that started it

Ctrl-C drains and stops. Everything durable is in DATA_DIR; a second start continues where it was.`,
  async run(args) {
    makeFilesPrivate();
    const worker = asWorker();
    if (worker !== undefined) return runWorker(worker).finally(() => worker.leave());
    const { values, positionals } = readArguments({
      args,
      options: {
        json: { type: 'boolean' },
        quiet: { type: 'boolean' },
        workers: { type: 'string' },
        'free-ports': { type: 'boolean' },
        temporary: { type: 'boolean' },
        'until-input-ends': { type: 'boolean' },
      },
      allowPositionals: true,
    });
    for (const name of positionals) {
      if (!surfaceNames.includes(name)) {
        throw new UsageError(`there is no surface "${name}"; there are ${surfaceNames.join(', ')}`);
      }
    }
    const only = positionals.length === 0 ? surfaceNames : positionals;
    const count = workerCount(values.workers, only);
    if (values['until-input-ends'] === true) stopWhenInputEnds();
    const config = startConfig(values);
    checkSettings(config, only);
    await insistOnOneWorld(config, only);
    const dataDir = prepareDataDir(config.DATA_DIR);
    insistOnWholeRestore(dataDir);
    markFolder(dataDir, config.WORLD);
    const log = logOf(config);
    if (isFullWithReserve(dataDir))
      log.error({ dataDir }, 'the disk of DATA_DIR is full: only reads are served');
    for (const line of misspeltVariables()) log.warn(line);
    const retired = retiredVariables();
    if (retired.length > 0) log.warn(`set and no longer used: ${retired.join(', ')}`);
    const stack = await stackOf(config, log, only, count);
    const surfaces = [
      ...traces(config, log),
      ...stack.surfaces,
      runFile(config, () => stack.addresses(), log),
    ];
    const running = await startSurfaces(surfaces, lifeOf(config, log));
    const addresses = stack.addresses();
    if (values.json) {
      console.log(JSON.stringify(addresses));
    } else {
      const wallets = values.quiet || !hasMoney(addresses) ? undefined : walletsOf(config);
      console.log(addressTable(addresses, dataDir, config, wallets));
    }
    await running.stopped;
    return 0;
  },
};

/** What is started: in the world `local` a stack whose state can be changed as a whole, unless workers share it. */
async function stackOf(
  config: Config,
  log: Logger,
  only: readonly string[],
  workers: number | undefined,
): Promise<Pick<Stack, 'surfaces' | 'addresses'>> {
  if (workers !== undefined) return withWorkers(config, log, only, workers);
  if (config.WORLD !== 'local') return createStack(config, log, { only });
  const local = new LocalStack({ config, log, only });
  await mountControl(config, log, local, createLocalControl(config, local));
  return { surfaces: [local], addresses: () => local.stack.addresses() };
}

/** One of several processes of the same surfaces; the first process tells it which. */
async function runWorker(worker: WorkerLife): Promise<number> {
  const { surfaces, index, count, network, consoleUrl, ...begun } = await worker.begin;
  const config = shareOf(begun.config, count);
  const log = logOf(config).child({ worker: index });
  const stack = createStack(config, log, { only: surfaces, given: network, consoleUrl });
  const running = await startSurfaces([...traces(config, log), ...stack.surfaces], {
    ...lifeOf(config, log),
    host: worker.host,
  });
  worker.ready(stack.addresses().filter(({ name }) => name === 'admin' || surfaces.includes(name)));
  await running.stopped;
  return 0;
}

/** Workers share folders, caches and cores: each counts its own part of what is bounded. */
function shareOf(config: Config, count: number): Config {
  const part = (whole: number): number => Math.ceil(whole / count);
  return {
    ...config,
    CONTIGUOUS_DATA_CACHE_MAX_BYTES: part(config.CONTIGUOUS_DATA_CACHE_MAX_BYTES),
    CONTENT_CACHE_MAX_SIZE_BYTES: part(config.CONTENT_CACHE_MAX_SIZE_BYTES),
    CONTENT_CACHE_MAX_ENTRIES: part(config.CONTENT_CACHE_MAX_ENTRIES),
    WORKER_THREADS: part(config.WORKER_THREADS || availableParallelism()),
  };
}

/** How long a local chain waits for those who read it: as long as they take at most. */
const readersMs = 30_000;

/** Workers after the local network, and the console after them: those two run in this process. */
function withWorkers(
  config: Config,
  log: Logger,
  only: readonly string[],
  count: number,
): Pick<Stack, 'surfaces' | 'addresses'> {
  const surfaces = only.filter((name) => !runsInFirst(name));
  const stack: Stack = createStack(config, log, {
    only,
    elsewhere: {
      surfaces,
      addresses: () => workers.addresses,
      readers: {
        mined: async (head) => void (await workers.ask(readerTopics.mined, head, 'all', readersMs)),
        accepted: async (transaction) =>
          void (await workers.ask(readerTopics.accepted, transaction, 'one', readersMs)),
      },
    },
  });
  lendStandIns(stack.network);
  const workers: Workers = new Workers({
    surfaces,
    count,
    config,
    network: () => stack.network.facts(),
    consoleUrl: () => consoleUrlOf(config, only),
    log,
  });
  return {
    surfaces: [
      ...stack.surfaces.filter(({ name }) => !runsInFirst(name)),
      workers,
      ...stack.surfaces.filter(({ name }) => runsInFirst(name)),
    ],
    addresses: () => stack.addresses(),
  };
}

/** The console has the sessions of operators in its memory, and little to do. */
const runsInFirst = (surface: string): boolean => surface === 'console';

/** It is started last; its port is known before unless the system chooses it. */
function consoleUrlOf(config: Config, surfaces: readonly string[]): string | undefined {
  const { CONSOLE_HOST: host, CONSOLE_PORT: port } = config;
  return surfaces.some(runsInFirst) && port !== 0 ? `http://${urlHost(host)}:${port}` : undefined;
}

function startConfig(values: {
  readonly 'free-ports'?: boolean | undefined;
  readonly temporary?: boolean | undefined;
}): Config {
  const ports = values['free-ports'] === true ? freePorts() : {};
  const config = readProcessConfig(ports);
  if (values.temporary !== true) return config;
  return { ...config, DATA_DIR: temporaryDataDir(isSet('DATA_DIR') ? config.DATA_DIR : undefined) };
}

/** Undefined where one process does all. */
function workerCount(text: string | undefined, surfaces: readonly string[]): number | undefined {
  if (text === undefined) return undefined;
  if (text !== 'auto' && !/^[1-9][0-9]?$/.test(text)) {
    throw new UsageError(`--workers takes a number from 1 to 99, or auto, not "${text}"`);
  }
  if (surfaces.every(runsInFirst)) {
    throw new UsageError('--workers is for other surfaces than the console, which takes one process');
  }
  const count = text === 'auto' ? availableParallelism() : Number(text);
  return text === 'auto' && count === 1 ? undefined : Math.min(count, 99);
}

function logOf(config: Config): Logger {
  const format = process.stderr.isTTY ? 'pretty' : config.LOG_FORMAT;
  return createLogger({ name: 'turnpike', level: config.LOG_LEVEL, format, redact: redactProcessSecrets });
}

const lifeOf = (config: Config, log: Logger): LifecycleOptions => ({
  log,
  drainTimeoutMs: config.SHUTDOWN_DRAIN_TIMEOUT_MS,
  timeoutMs: config.SHUTDOWN_TIMEOUT_MS,
});

function prepareDataDir(path: string): string {
  try {
    makeFolder(resolve(path), privateFolderMode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartupError(`DATA_DIR ${resolve(path)} cannot be made: ${code}`);
  }
  return resolve(path);
}

const moneyOf: Readonly<Record<WorldName, string>> = {
  local: 'play money',
  testnet: 'test money',
  public: 'real money',
};

/** Whether anything runs here that the wallets have money on. */
const hasMoney = (addresses: readonly Address[]): boolean =>
  addresses.some(({ name }) => ['arweave', 'solana', 'x402', 'payment', 'upload'].includes(name));

function walletsOf({ WORLD, LOCAL_WALLETS }: Config): string | undefined {
  return WORLD === 'local' && LOCAL_WALLETS > 0 ? describeWallets(localWallets(LOCAL_WALLETS)) : undefined;
}

function addressTable(
  addresses: readonly Address[],
  dataDir: string,
  { WORLD: world, LOCAL_TLS, TLS_CERTIFICATE_FILE }: Config,
  wallets: string | undefined,
): string {
  const width = Math.max(...addresses.map((address) => address.name.length));
  const urlWidth = Math.max(...addresses.map((address) => address.url.length));
  const rows = addresses.map(
    ({ name, url, what }) => `  ${name.padEnd(width)}  ${url.padEnd(urlWidth)}  ${what}`,
  );
  const opening = `Turnpike is open in the world ${world}, with ${moneyOf[world]}. Data and keys are in ${dataDir}`;
  const shown = wallets === undefined ? [] : [wallets];
  const trust =
    TLS_CERTIFICATE_FILE === undefined ? '; "turnpike certificate" tells how a browser trusts it' : '';
  const secure = trust === '' || LOCAL_TLS ? [`Each address answers https:// too${trust}.`] : [];
  return `\n${[...shown, opening, rows.join('\n'), ...secure, 'Ctrl-C stops it.'].join('\n\n')}\n`;
}
