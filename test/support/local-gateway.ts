/** A local Arweave network and a gateway beside it, on free ports in a temporary folder, for tests. */
import { hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, readConfig } from '../../src/config/config.ts';
import { dataTreeOf } from '../../src/formats/arweave/data-root.ts';
import { newTransaction, type Transaction } from '../../src/formats/arweave/transaction.ts';
import { transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import { signTransaction } from '../../src/formats/arweave/transaction-signature.ts';
import type { CreatePart } from '../../src/gateway/context.ts';
import { createGatewaySurface } from '../../src/gateway/surface.ts';
import { createLogger, type Logger } from '../../src/kernel/log.ts';
import type { Surface } from '../../src/kernel/surface.ts';
import { createLocalArweave } from '../../src/localnet/arweave/index.ts';
import { testArweaveKey } from '../../src/wallets/testing/keys.ts';

export const silent: Logger = createLogger({
  name: 'test',
  level: process.env.TEST_LOG_LEVEL === 'debug' ? 'debug' : 'silent',
  format: 'pretty',
});

export interface LocalStack {
  readonly dataDir: string;
  readonly node: Surface;
  readonly gateway: Surface;
  /** Stops the gateway and starts a new one on the same data. */
  restartGateway(overrides?: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
}

export interface LocalStackOptions {
  readonly overrides?: Record<string, string>;
  readonly parts?: readonly CreatePart[];
  /** In place of the local node only. */
  readonly nodeUrls?: (local: string) => readonly string[];
}

export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalStack> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-gateway-'));
  const configOf = (overrides: Record<string, string> = {}): Config =>
    readConfig({
      DATA_DIR: dataDir,
      LOCAL_ARWEAVE_PORT: '0',
      GATEWAY_PORT: '0',
      LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
      GATEWAY_POLL_INTERVAL_MS: '20',
      MEMPOOL_POLLING_INTERVAL_MS: '100',
      WORKER_THREADS: '2',
      ...options.overrides,
      ...overrides,
    });
  const node = createLocalArweave(configOf(), { log: silent });
  await node.start();
  const make = (overrides?: Record<string, string>) =>
    createGatewaySurface(configOf(overrides), {
      log: silent,
      nodeUrls: options.nodeUrls?.(node.url) ?? [node.url],
      release: 'test',
      ...(options.parts !== undefined && { parts: options.parts }),
    });
  let gateway = make();
  await gateway.start();
  return {
    dataDir,
    node,
    get gateway() {
      return gateway;
    },
    async restartGateway(overrides) {
      await gateway.stop();
      gateway = make(overrides);
      await gateway.start();
    },
    async stop() {
      await gateway.stop();
      await node.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

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
  const transaction = signTransaction(
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

/** Asks again and again until the answer is there; fails loudly after ten seconds. */
export async function until<T>(what: string, ask: () => Promise<T | undefined | null | false>): Promise<T> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
