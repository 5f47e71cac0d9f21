/** What a developer says about the network to start, and the command line and environment that follow from it. */
import { childEnvironment } from '../config/child-environment.ts';

export type SurfaceName = 'gateway' | 'payment' | 'upload' | 'router';

/**
 * When blocks come: `demand` a short while after something waits, `transaction` with each accepted transaction,
 * `interval` every `intervalMs` also when nothing waits, `none` only by `mine()`.
 */
export type MiningModeName = 'demand' | 'transaction' | 'interval' | 'none';

export interface MiningMode {
  readonly mode: MiningModeName;
  readonly intervalMs?: number;
}

/** Reads that the local network cannot answer are answered from these; writes stay local. */
export interface ForkOptions {
  /** An Arweave gateway, for example `https://arweave.net`. */
  readonly gatewayUrl?: string;
  readonly graphqlUrl?: string;
  readonly solanaRpcUrl?: string;
  /** Nothing above this height is shown. */
  readonly height?: number;
}

export interface StartOptions {
  /** A child process, which any Node from 20 can start, or a worker thread of this process, which needs Node 24. */
  readonly run?: 'process' | 'thread';
  /** Kept here, and continued by the next start. Without, in memory and gone at `stop()`. */
  readonly dataDir?: string;
  /** Only these and what they use of the local network; all unless given. */
  readonly surfaces?: readonly SurfaceName[];
  /** Any variable of docs/configuration.md. Of this process's own environment nothing is passed on but where things are. */
  readonly env?: Readonly<Record<string, string>>;
  readonly mining?: MiningModeName | MiningMode;
  /** How many funded wallets there are of each kind, from 0 to 10. */
  readonly wallets?: number;
  readonly fork?: ForkOptions;
  /** Of the address that has everything of the network on one port; a free one unless given. */
  readonly port?: number;
  /** How long the start may take. */
  readonly timeoutMs?: number;
  /** What becomes of the log: only kept for `logs()`, also written to standard error, or handed over line by line. */
  readonly log?: 'silent' | 'inherit' | ((line: string) => void);
}

const surfaceNames: readonly string[] = ['gateway', 'payment', 'upload', 'router'];

/** The arguments behind `turnpike`. */
export function argumentsOf(options: StartOptions): string[] {
  const { surfaces = [], dataDir } = options;
  const unknown = surfaces.find((name) => !surfaceNames.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`there is no surface "${unknown}"; there are ${surfaceNames.join(', ')}`);
  }
  if (surfaces.length > 0 && surfaces.every((name) => name === 'router')) {
    throw new TypeError('the router alone has no network to control: start the gateway with it');
  }
  return [
    'start',
    ...surfaces,
    '--json',
    '--free-ports',
    '--until-input-ends',
    ...(dataDir === undefined ? ['--temporary'] : []),
  ];
}

/** The whole environment of the program, of which `dataDir` is its folder. */
export function environmentOf(options: StartOptions, dataDir: string): Record<string, string> {
  const { mining, wallets, fork = {}, port } = options;
  const mode = typeof mining === 'string' ? { mode: mining } : mining;
  const given: Record<string, string | number | undefined> = {
    // An app's DATABASE_URL or STRIPE_SECRET_KEY is not meant for this network.
    ...childEnvironment(),
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'json',
    LOCAL_ARWEAVE_PORT: port,
    LOCAL_ARWEAVE_MINING: mode?.mode,
    LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: mode?.intervalMs,
    LOCAL_WALLETS: wallets,
    FORK_GATEWAY_URL: fork.gatewayUrl,
    FORK_GRAPHQL_URL: fork.graphqlUrl,
    FORK_SOLANA_RPC_URL: fork.solanaRpcUrl,
    FORK_HEIGHT: fork.height,
    ...options.env,
    DATA_DIR: dataDir,
  };
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
