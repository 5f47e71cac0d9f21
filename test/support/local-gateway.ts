/** A local Arweave network and a gateway beside it, on free ports in a temporary folder, for tests. */
import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, readConfig } from '../../src/config/config.ts';
import { dataTreeOf } from '../../src/formats/arweave/data-root.ts';
import { newTransaction, type Transaction } from '../../src/formats/arweave/transaction.ts';
import { transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../src/formats/arweave/transaction-signature.ts';
import { openContentCache } from '../../src/gateway/content/part.ts';
import { createGateway, type Gateway, type GatewayDeps } from '../../src/gateway/surface.ts';
import { createLogger, type Logger } from '../../src/kernel/log.ts';
import { createSurface, type Surface } from '../../src/kernel/part.ts';
import { createLocalArweave } from '../../src/localnet/arweave/local-arweave.ts';
import { connected } from '../../src/storage/sql/postgres/testing-schemas.ts';
import { testArweaveKey } from '../../src/wallets/testing/keys.ts';

export { eventually as until } from './eventually.ts';

export const silent: Logger = createLogger({
  name: 'test',
  level: process.env.TEST_LOG_LEVEL === 'debug' ? 'debug' : 'silent',
  format: 'pretty',
});

export const adminKey = 'an-admin-key-for-tests';

/** What a gateway is made of. */
export interface Inside extends Gateway {
  readonly config: Config;
}

export interface LocalStack {
  readonly dataDir: string;
  readonly node: Surface;
  readonly gateway: Surface;
  /** Of `gateway`, not of those that were added beside it. */
  readonly inside: Inside;
  /** Starts one more gateway on the same data, as another process would. */
  addGateway(overrides?: Record<string, string>): Promise<Surface>;
  /** Stops the gateway and starts a new one on the same data. */
  restartGateway(overrides?: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
}

export interface LocalStackOptions {
  readonly overrides?: Record<string, string>;
  /** Asked for each gateway that is started. */
  readonly deps?: () => Partial<GatewayDeps> | Promise<Partial<GatewayDeps>>;
  /** A PostgreSQL server; the stack gets a database of its own there. */
  readonly postgres?: string;
  /** In place of the local node only. */
  readonly nodeUrls?: (local: string) => readonly string[];
}

export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalStack> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-gateway-'));
  const database = options.postgres === undefined ? undefined : await createDatabase(options.postgres);
  const configOf = (overrides: Record<string, string> = {}): Config =>
    readConfig({
      DATA_DIR: dataDir,
      LOCAL_ARWEAVE_PORT: '0',
      GATEWAY_PORT: '0',
      LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
      GATEWAY_POLL_INTERVAL_MS: '50',
      MEMPOOL_POLLING_INTERVAL_MS: '100',
      WORKER_THREADS: '2',
      ...(database !== undefined && { DATABASE_URL: database.url }),
      ...options.overrides,
      ...overrides,
    });
  const node = createLocalArweave(configOf(), { log: silent });
  await node.start();
  const start = async (overrides?: Record<string, string>): Promise<{ surface: Surface; inside: Inside }> => {
    const config = configOf(overrides);
    const given = await options.deps?.();
    const made = await createGateway(config, {
      log: silent,
      nodeUrls: options.nodeUrls?.(node.url) ?? [node.url],
      release: 'test',
      cache: given?.cache ?? (await openContentCache(config)),
      uploadUrl: () => undefined,
      names: [],
      adminKey,
      ...given,
    });
    const surface = stoppedOnce(createSurface('gateway', () => made));
    await surface.start();
    return { surface, inside: { ...made, config } };
  };
  let gateway = await start();
  const others: Surface[] = [];
  return {
    dataDir,
    node,
    get gateway() {
      return gateway.surface;
    },
    get inside() {
      return gateway.inside;
    },
    async addGateway(overrides) {
      const { surface } = await start(overrides);
      others.push(surface);
      return surface;
    },
    async restartGateway(overrides) {
      await gateway.surface.stop();
      gateway = await start(overrides);
    },
    async stop() {
      for (const other of others) await other.stop();
      await gateway.surface.stop();
      await node.stop();
      await database?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Tests stop a gateway in their midst, and the stack stops all of them. */
function stoppedOnce(surface: Surface): Surface {
  let stopped: Promise<void> | undefined;
  return {
    name: surface.name,
    get url() {
      return surface.url;
    },
    start: () => surface.start(),
    drain: (timeoutMs) => surface.drain(timeoutMs),
    stop() {
      stopped ??= surface.stop();
      return stopped;
    },
  };
}

export interface TestDatabase {
  readonly url: string;
  /** Nobody may be connected. */
  copy(): Promise<TestDatabase>;
  /** Also where it is gone. */
  drop(): Promise<void>;
}

/** A database of its own on the server, as `template` is. */
export async function createDatabase(server: string, template = 'template1'): Promise<TestDatabase> {
  const name = `gateway_${randomBytes(6).toString('hex')}`;
  const run = (statement: string) => connected(server, (client) => client.query(statement));
  await run(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    copy: () => createDatabase(server, name),
    drop: () => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** The engines to run a stack on: SQLite, or PostgreSQL where TEST_DATABASE_URL names one. */
export const engines: readonly { readonly name: string; readonly options: LocalStackOptions }[] =
  process.env.TEST_DATABASE_URL === undefined
    ? [{ name: 'SQLite', options: {} }]
    : [{ name: 'PostgreSQL', options: { postgres: process.env.TEST_DATABASE_URL } }];

/** Signs a transaction with the test wallet, which has money on the local node. */
export async function makeTransaction(
  nodeUrl: string,
  data: Buffer,
  tags: readonly { name: string; value: string }[] = [],
): Promise<{ transaction: Transaction; post(url?: string): Promise<void> }> {
  const { privateKey: key, modulus: owner } = testArweaveKey;
  await text(`${nodeUrl}/mint/${hash('sha256', owner, 'base64url')}/1000000000000000`);
  const [anchor, price] = await Promise.all([
    text(`${nodeUrl}/tx_anchor`),
    text(`${nodeUrl}/price/${data.length}`),
  ]);
  const tree = data.length === 0 ? undefined : dataTreeOf(data);
  const transaction = await signTransactionAsync(
    newTransaction({
      owner,
      lastTx: Buffer.from(anchor, 'base64url'),
      reward: BigInt(price) + BigInt(randomBytes(3).readUIntBE(0, 3)),
      tags,
      dataSize: data.length,
      ...(tree !== undefined && { dataRoot: tree.root }),
    }),
    key,
  );
  return {
    transaction,
    async post(url = nodeUrl) {
      await send(`${url}/tx`, transactionToJson(transaction, 'header'));
      if (tree === undefined) return;
      for (const { start, end, offset, dataPath } of tree.proofs()) {
        await send(`${url}/chunk`, {
          data_root: transaction.dataRoot.toString('base64url'),
          data_size: String(data.length),
          data_path: dataPath.toString('base64url'),
          offset: String(offset),
          chunk: data.subarray(start, end).toString('base64url'),
        });
      }
    },
  };
}

export async function text(url: string, init?: RequestInit): Promise<string> {
  const answer = await fetch(url, init);
  const body = await answer.text();
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${body}`);
  return body;
}

export async function send(url: string, body: unknown): Promise<string> {
  return text(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
