/**
 * The programmatic API: a whole local network in one line of a test.
 *
 *     const turnpike = await startTurnpike();
 *     const turbo = await turnpike.clients.turbo(turnpike.wallets.arweave[0]);
 *     await turnpike.stop();
 *
 * Runs on Node 20 and newer and imports nothing but Node's own modules.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { makeMemoryFolder } from '../kernel/memory-folder.ts';
import { ControlClient } from './control-client.ts';
import { argumentsOf, environmentOf, type StartOptions } from './options.ts';
import { type Program, runProgram } from './program.ts';
import { createTurnpike, type Turnpike, type TurnpikeJson } from './turnpike.ts';
import { urlsOf } from './urls.ts';
import type { Wallets } from './wallets.ts';

export type {
  ArweaveClient,
  SolanaConnection,
  SolanaKitClient,
  StripeClient,
  TurboClient,
  WayfinderClient,
} from './client-types.ts';
export type { Clients } from './clients.ts';
export type { ForkOptions, MiningMode, MiningModeName, StartOptions, SurfaceName } from './options.ts';
export type {
  Coin,
  Duration,
  FaultSwitches,
  LocalInfo,
  SnapshotInfo,
  Turnpike,
  TurnpikeJson,
} from './turnpike.ts';
export type { Urls } from './urls.ts';
export type {
  AnyWallet,
  ArweaveJwk,
  ArweaveWallet,
  EthereumWallet,
  SolanaWallet,
  Wallets,
} from './wallets.ts';

const defaultTimeoutMs = 60_000;

/** Starts a local network with all its services. `stop()` ends it; so does the end of this process, whatever ends it. */
export async function startTurnpike(options: StartOptions = {}): Promise<Turnpike> {
  const args = argumentsOf(options);
  const folder = options.dataDir === undefined ? temporaryFolder() : keptFolder(options.dataDir);
  let program: Program;
  try {
    program = await runProgram({
      run: options.run ?? 'process',
      args,
      env: environmentOf(options, folder.path),
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      onLine: lineHandler(options.log ?? 'silent'),
    });
  } catch (error) {
    folder.leave();
    throw error;
  }
  const stop = async (): Promise<void> => {
    await program.stop();
    folder.leave();
  };
  try {
    const control = new ControlClient(() => lastWords(program));
    const urls = urlsOf(JSON.parse(program.firstLine));
    return createTurnpike({
      dataDir: folder.path,
      urls,
      wallets: await walletsAt(urls.arweave, control),
      cardSecretKey: cardSecretKeyIn(folder.path),
      control,
      logs: async () => program.log(),
      stop,
    });
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The network that another process has started, by its `toJSON()` or its address alone. */
export async function connectTurnpike(to: TurnpikeJson | string): Promise<Turnpike> {
  const { url, cardSecretKey } = typeof to === 'string' ? { url: to } : to;
  const base = url.replace(/\/+$/, '');
  const control = new ControlClient(() => '');
  const info = await control.json(`${base}/local`);
  return createTurnpike({
    dataDir: undefined,
    urls: urlsOf((info as { addresses?: unknown }).addresses),
    wallets: await walletsAt(base, control),
    cardSecretKey,
    control,
    logs: async () => String(await control.json(`${base}/logs`)),
    stop: async () => {},
  });
}

async function walletsAt(url: string, control: ControlClient): Promise<Wallets> {
  return (await control.json(`${url}/local/wallets`)) as Wallets;
}

function lineHandler(log: NonNullable<StartOptions['log']>): (line: string) => void {
  if (typeof log === 'function') return log;
  return log === 'inherit' ? (line) => void process.stderr.write(`${line}\n`) : () => {};
}

/** For an error of a call: why the program is not there any more. */
function lastWords(program: Program): string {
  const ending = program.ending();
  return ending === undefined ? '' : `; the program ${ending}\n${program.log().slice(-2_000)}`.trimEnd();
}

interface Folder {
  readonly path: string;
  /** Removes it unless it is to be kept. */
  leave(): void;
}

/** Folders that are removed when this process ends. */
const temporaryFolders = new Set<string>();

const remove = (path: string): void => rmSync(path, { recursive: true, force: true, maxRetries: 3 });

/** The program removes it when it ends; where it was killed, this does. */
function temporaryFolder(): Folder {
  if (temporaryFolders.size === 0) process.once('exit', removeAll);
  const path = makeMemoryFolder();
  temporaryFolders.add(path);
  return {
    path,
    leave() {
      temporaryFolders.delete(path);
      if (temporaryFolders.size === 0) process.off('exit', removeAll);
      remove(path);
    },
  };
}

function removeAll(): void {
  for (const path of temporaryFolders) remove(path);
}

function keptFolder(dataDir: string): Folder {
  const path = resolve(dataDir);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return { path, leave() {} };
}

/** Made at the first start; not there where the card provider was left out. */
function cardSecretKeyIn(dataDir: string): string | undefined {
  const file = join(dataDir, 'keys', 'local-card-secret-key');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}
