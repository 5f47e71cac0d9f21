/**
 * A whole installation on one machine, as an operator has it on several: two processes of each surface behind HAProxy, a
 * PostgreSQL with standbys behind PgBouncer, an object store, and ClickHouse for the history. The outside world is the
 * local network, in a process of its own. Every piece can be killed and started again.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { startClickHouse } from './servers/clickhouse.ts';
import { type Haproxy, startHaproxy } from './servers/haproxy.ts';
import type { ObjectStore } from './servers/object-store.ts';
import { type Pgbouncer, startPgbouncer } from './servers/pgbouncer.ts';
import { type PostgresCluster, startPostgresCluster } from './servers/postgres-cluster.ts';
import { freePorts, type RunningStack, startStack } from './stack.ts';

/** What answers 200 where a process can take requests. */
const surfaces = {
  payment: { probe: '/health', port: 'PAYMENT_PORT' },
  upload: { probe: '/health', port: 'UPLOAD_PORT' },
  gateway: { probe: '/gw/healthcheck', port: 'GATEWAY_PORT' },
  router: { probe: '/router/ready', port: 'PORT' },
} as const;

export type SurfaceName = keyof typeof surfaces;
const surfaceNames = Object.keys(surfaces) as SurfaceName[];

/** Something that is killed and comes back. */
export interface Piece {
  readonly name: string;
  kill(): Promise<void>;
  /** Resolves when it works again. */
  restore(): Promise<void>;
}

export interface Installation {
  /** Where clients go: the balancer's addresses. */
  readonly urls: Readonly<Record<SurfaceName, string>>;
  /** Each process, past the balancer. */
  readonly processes: readonly Process[];
  readonly pieces: readonly Piece[];
  readonly cluster: PostgresCluster;
  readonly world: World;
  readonly adminKey: string;
  /** As an operator's command needs it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly operatorFolder: string;
  stop(): Promise<void>;
}

export interface InstallationOptions {
  startObjectStore(): Promise<ObjectStore>;
  /** Further settings of every process. */
  readonly environment?: Readonly<Record<string, string>>;
}

export async function startInstallation(options: InstallationOptions): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-installation-'));
  const ending: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const end of ending.reverse()) await end();
  };
  try {
    const world = await startWorld(join(folder, 'world'));
    ending.push(() => world.stop());
    /** Ended with the rest, also where another did not start. */
    const started = async <T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
      const server = await starting;
      ending.push(() => server.stop());
      return server;
    };
    const starting = [
      started(
        startPostgresCluster({
          standbys: 2,
          // Whichever is the primary: a commit is acknowledged when one of the others has it too.
          settings: { synchronous_standby_names: "'ANY 1 (node0, node1, node2)'" },
        }),
      ),
      started(options.startObjectStore()),
      started(startHistory()),
    ] as const;
    await Promise.allSettled(starting);
    const [cluster, store, history] = await Promise.all(starting);
    const processes: Process[] = [];
    for (const surface of surfaceNames) {
      for (const number of [1, 2]) processes.push(new Process(surface, number, folder, await freePort()));
    }
    const nodes = cluster.nodes.map(({ port }) => port);
    const balancer = await startHaproxy([
      { name: 'primary', kind: 'primary', ports: nodes, checkSeconds: 20 },
      ...surfaceNames.map((name) => ({
        name,
        kind: { httpPath: surfaces[name].probe },
        checkSeconds: 20,
        ports: processes.filter(({ surface }) => surface === name).map(({ port }) => port),
      })),
    ]);
    ending.push(() => balancer.stop());
    const bouncer = await startPgbouncer({ target: { port: balancer.ports.primary ?? 0 }, poolSize: 40 });
    ending.push(() => bouncer.stop());
    const url = (name: SurfaceName) => `http://127.0.0.1:${balancer.ports[name]}`;
    const urls = {
      payment: url('payment'),
      upload: url('upload'),
      gateway: url('gateway'),
      router: url('router'),
    };
    const adminKey = 'operator-key-of-the-installation';
    const environment = {
      ...world.environment,
      DATABASE_URL: bouncer.url,
      // Whichever of them are standbys.
      DATABASE_READ_URLS: cluster.nodes.map(({ url }) => url).join(','),
      BLOB_STORE_URL: store.url,
      INDEX_HISTORY_URL: `${history.url}/turnpike`,
      INDEX_HISTORY_AFTER_SECONDS: '1',
      GATEWAY_URL: urls.gateway,
      UPLOAD_URL: urls.upload,
      ADMIN_API_KEY: adminKey,
      ADMIN_TOKEN: adminKey,
      MODERATION_ADMIN_TOKEN: adminKey,
      JWT_SECRET: 'one-secret-for-both-payment-servers',
      // Rich on the local chains, as the key that sells names must be.
      SOLANA_SIGNER_SECRET_KEY: localWallets().solana.at(-1)?.secretKey ?? '',
      LOCAL_TLS: 'false',
      WORKER_THREADS: '1',
      ARWEAVE_MIN_CONFIRMATIONS: '1',
      PENDING_PAYMENT_RECHECK_MS: '300',
      STRIPE_RECONCILE_INTERVAL_MS: '1000',
      BUNDLE_MAX_WAIT_MS: '500',
      BUNDLE_POLL_MS: '200',
      GATEWAY_POLL_INTERVAL_MS: '200',
      ...options.environment,
    };
    for (const process of processes) process.environment = environment;
    ending.push(() => Promise.all(processes.map((process) => process.kill())));
    // The first brings the database up to date; the others find it so.
    const [first, ...others] = processes;
    await first?.restore();
    await Promise.all(others.map((process) => process.restore()));
    await world.deliverCardEventsTo(`${urls.payment}/v1/stripe-webhook`);
    await eventually('the balancer reaches every surface', async () =>
      (await Promise.all(surfaceNames.map((name) => answers(`${urls[name]}${surfaces[name].probe}`)))).every(
        Boolean,
      ),
    );
    return {
      urls,
      processes,
      cluster,
      world,
      adminKey,
      environment,
      operatorFolder: join(folder, 'operator'),
      pieces: [
        ...processes,
        primaryOf(cluster),
        standbyOf(cluster),
        { name: "the object store's gateway", kill: () => store.kill(), restore: () => store.start() },
        { name: 'ClickHouse', kill: () => history.kill(), restore: () => history.start() },
        bouncerPiece(bouncer),
        balancerPiece(balancer),
      ],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startHistory() {
  const server = await startClickHouse();
  await server.ask('CREATE DATABASE turnpike');
  return server;
}

/** One process of a surface, always on the same port. */
export class Process implements Piece {
  readonly name: string;
  readonly surface: SurfaceName;
  readonly port: number;
  readonly #dataDir: string;
  #stack: RunningStack | undefined;
  environment: Readonly<Record<string, string>> = {};
  /** What all its lives wrote to their logs. */
  log = '';

  constructor(surface: SurfaceName, number: number, folder: string, port: number) {
    this.name = `${surface} ${number}`;
    this.surface = surface;
    this.port = port;
    this.#dataDir = join(folder, `${surface}-${number}`);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async kill(): Promise<void> {
    await this.#stack?.end('SIGKILL');
    this.log += this.#stack?.log() ?? '';
    this.#stack = undefined;
  }

  async restore(): Promise<void> {
    this.#stack = await startStack({
      only: [this.surface],
      dataDir: this.#dataDir,
      environment: { ...freePorts(), ...this.environment, [surfaces[this.surface].port]: String(this.port) },
    });
    const probe = `${this.url}${surfaces[this.surface].probe}`;
    await eventually(`${this.name} can take requests`, () => answers(probe), 300_000);
  }
}

/** The primary dies; whoever watches the cluster promotes a standby, and the dead one comes back as a standby. */
function primaryOf(cluster: PostgresCluster): Piece {
  let dead = cluster.primary;
  return {
    name: 'the primary of PostgreSQL',
    async kill() {
      dead = cluster.primary;
      await dead.kill();
      await cluster.promote();
    },
    async restore() {
      await cluster.rejoin(dead);
      await cluster.streaming(cluster.primary, 2);
    },
  };
}

function standbyOf(cluster: PostgresCluster): Piece {
  let dead = cluster.standbys[0];
  return {
    name: 'a standby of PostgreSQL',
    async kill() {
      dead = cluster.standbys.at(-1);
      await dead?.kill();
    },
    async restore() {
      await dead?.start();
      await cluster.streaming(cluster.primary, 2);
    },
  };
}

const bouncerPiece = (bouncer: Pgbouncer): Piece => ({
  name: 'PgBouncer',
  kill: () => bouncer.kill(),
  restore: () => bouncer.start(),
});

const balancerPiece = (balancer: Haproxy): Piece => ({
  name: 'HAProxy',
  kill: () => balancer.kill(),
  restore: () => balancer.start(),
});

export interface World {
  /** Where the processes find it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly arweaveUrl: string;
  /** The token that x402 payments move. */
  mintDollars(address: string, amount: bigint): Promise<void>;
  dollarsOf(address: string): Promise<bigint>;
  deliverCardEventsTo(url: string): Promise<void>;
  stop(): Promise<void>;
}

async function startWorld(folder: string): Promise<World> {
  const child = fork(join(import.meta.dirname, 'local-network-process.ts'), {
    env: {
      ...process.env,
      ...freePorts(),
      DATA_DIR: folder,
      LOCAL_TLS: 'false',
      LOCAL_SOLANA_PORT: String(await freePort()),
      LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '300',
    },
  });
  const told = once(child, 'message').then(([message]) => message as Record<string, string>);
  const environment = await Promise.race([told, once(child, 'exit').then(() => undefined)]);
  if (environment === undefined) throw new Error('the local network did not start');
  const { X402_FACILITATOR_URL: facilitator, ARWEAVE_NODE_URLS: arweaveUrl = '' } = environment;
  const dollars = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${facilitator}${path}`, {
      ...(body !== undefined && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    });
    const told: Record<string, unknown> = JSON.parse(await answer.text());
    return told;
  };
  return {
    environment,
    arweaveUrl,
    async mintDollars(address, amount) {
      await dollars('/mint', { address, amount: amount.toString() });
    },
    dollarsOf: async (address) => BigInt(String((await dollars(`/balance/${address}`)).balance)),
    async deliverCardEventsTo(url) {
      const heard = once(child, 'message');
      child.send({ deliverTo: url });
      await heard;
    },
    async stop() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}

interface StoredData {
  readonly id: string;
  readonly data: Buffer;
}

interface CardPayment {
  readonly address: string;
  /** What the session promised. */
  readonly winc: bigint;
}

export interface Traffic {
  /** Items that their uploader has a receipt for, and what each cost. */
  readonly items: (StoredData & { readonly winc: bigint })[];
  readonly uploader: string;
  /** Items that went up in parts. */
  readonly parted: StoredData[];
  /** Transactions of arweave-js with data of their own. */
  readonly transactions: StoredData[];
  readonly cardPayments: CardPayment[];
  /** Addresses that had `dollarsEach` and paid one credit with them, or were not heard. */
  readonly dollarPayers: string[];
  /** What payments in AR bought, all of one wallet. */
  readonly coinPayments: bigint[];
  readonly coinPayer: string;
  readonly names: { readonly name: string; readonly target: string }[];
  /** Answers that should never have been given. */
  readonly wrong: string[];
  /** The last failure of each kind of request, for who looks for the reason of another. */
  readonly refusals: Map<string, string>;
  /** Bodies that were compared, and requests that an outage refused. */
  readonly reads: { right: number; refused: number };
  /** Resolves when nothing is in doubt any more. */
  stop(): Promise<void>;
  /** Nobody looks at it any more. */
  abandon(): void;
}

export const dollarsEach = 50_000_000n;
