/** A local Arweave node for tests, transactions for it, and a check that its whole chain hangs together. */

import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import type { MiningMode } from '../../src/config/variables/arweave.ts';
import { clientSplit, nodeSplit } from '../../src/formats/arweave/chunks.ts';
import { type DataTree, dataTreeOf } from '../../src/formats/arweave/data-root.ts';
import { sha256 } from '../../src/formats/arweave/merkle.ts';
import { verifyPath } from '../../src/formats/arweave/proof.ts';
import { rsaModulus } from '../../src/formats/arweave/rsa-pss.ts';
import { newTransaction, type Transaction } from '../../src/formats/arweave/transaction.ts';
import { parseTransactionJson, transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../src/formats/arweave/transaction-signature.ts';
import { buildTxTree, versionOneDataRoot } from '../../src/formats/arweave/tx-tree.ts';
import { decodeBase64url, encodeBase64url } from '../../src/formats/base64url.ts';
import { createLogger } from '../../src/kernel/log.ts';
import { type Block, hashListMerkle, indepHash } from '../../src/localnet/arweave/chain/blocks.ts';
import { createLocalArweave } from '../../src/localnet/arweave/local-arweave.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** HTTP to a node, as texts. */
export class NodeClient {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async get(path: string): Promise<Answer> {
    const { statusCode, body } = await request(this.url + path);
    return { status: statusCode, text: await body.text() };
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await request(this.url + path, { method: 'POST', body: text, headers });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  /** The body of an answer that must be 200. */
  async text(path: string): Promise<string> {
    const { status, text } = await this.get(path);
    assert.equal(status, 200, `${path}: ${text}`);
    return text;
  }

  async json<T>(path: string): Promise<T> {
    return JSON.parse(await this.text(path));
  }

  async postTx(transaction: Transaction): Promise<Answer> {
    return this.post('/tx', transactionToJson(transaction, 'with data'));
  }

  async postChunks(data: Buffer, tree: DataTree): Promise<void> {
    for (const { start, end, offset, dataPath } of tree.proofs()) {
      const answer = await this.post('/chunk', chunkBody(data.subarray(start, end), tree, offset, dataPath));
      assert.equal(answer.status, 200, answer.text);
    }
  }

  async height(): Promise<number> {
    return Number(await this.text('/height'));
  }

  async balance(address: string): Promise<bigint> {
    return BigInt(await this.text(`/wallet/${address}/balance`));
  }

  /** Everything that a refused request must leave as it was. */
  async snapshot(): Promise<unknown> {
    const paths = ['/info', '/tx/pending', '/total_supply', '/block/current'];
    return Promise.all(paths.map((path) => this.text(path)));
  }
}

export function chunkBody(chunk: Buffer, tree: DataTree, offset: number, dataPath: Buffer) {
  return {
    data_root: encodeBase64url(tree.root),
    data_size: String(tree.size),
    data_path: encodeBase64url(dataPath),
    offset: String(offset),
    chunk: encodeBase64url(chunk),
  };
}

export interface LocalArweaveOptions {
  readonly dataDir?: string;
  readonly blockIntervalMs?: number;
  readonly mining?: MiningMode;
  readonly confirmBlocks?: number;
}

export interface RunningLocalArweave extends AsyncDisposable {
  readonly client: NodeClient;
  readonly dataDir: string;
  stop(): Promise<void>;
}

/** Mines only when asked unless told otherwise. A folder that was given is kept. */
export async function startLocalArweave(options: LocalArweaveOptions = {}): Promise<RunningLocalArweave> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'turnpike-arweave-'));
  const surface = createLocalArweave(
    {
      DATA_DIR: dataDir,
      LOCAL_NETWORK_HOST: '127.0.0.1',
      LOCAL_ARWEAVE_PORT: 0,
      LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: options.blockIntervalMs ?? 0,
      LOCAL_ARWEAVE_MINING: options.mining ?? 'demand',
      LOCAL_ARWEAVE_CONFIRM_BLOCKS: options.confirmBlocks ?? 0,
    },
    { log: createLogger({ name: 'arweave', level: 'warn', format: 'json' }) },
  );
  await surface.start();
  const stop = async () => {
    await surface.drain(1_000);
    await surface.stop();
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  return { client: new NodeClient(surface.url), dataDir, stop, [Symbol.asyncDispose]: stop };
}

/** A wallet with a key that is made and signs fast; the chain takes any RSA modulus. */
export class TestWallet {
  readonly key: KeyObject;
  readonly address: string;

  constructor(key: KeyObject = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey) {
    this.key = key;
    this.address = encodeBase64url(sha256(rsaModulus(key)));
  }

  /** A signed transaction that pays what the node asks, anchored where the node says. */
  async transaction(client: NodeClient, fields: TransactionFields = {}): Promise<Transaction> {
    const { data, target, quantity = 0n, inline = true, format = 2 } = fields;
    const tree = data && dataTreeOf(data, inline ? nodeSplit : clientSplit);
    const size = data?.length ?? 0;
    const price = await client.text(`/price/${size}${target === undefined ? '' : `/${target}`}`);
    const anchor = fields.anchor ?? (await client.text('/tx_anchor'));
    return signTransactionAsync(
      newTransaction({
        format,
        reward: fields.reward ?? BigInt(price),
        lastTx: decodeBase64url(anchor),
        dataSize: size,
        ...(data && inline ? { data } : {}),
        ...(tree && format === 2 ? { dataRoot: tree.root } : {}),
        ...(target === undefined ? {} : { target: decodeBase64url(target) }),
        quantity,
        tags: fields.tags ?? [],
      }),
      this.key,
    );
  }
}

export interface TransactionFields {
  readonly data?: Buffer;
  /** False: the data follows in chunks. */
  readonly inline?: boolean;
  readonly format?: 1 | 2;
  readonly target?: string;
  readonly quantity?: bigint;
  readonly reward?: bigint;
  readonly anchor?: string;
  readonly tags?: { name: string; value: string }[];
}

/**
 * Walks the whole chain and checks it as a stranger would: hashes, links, roots, places in the weave, and that
 * no money came or went but by minting.
 */
export async function checkChain(client: NodeClient, minted: bigint): Promise<Block[]> {
  const head = await client.json<Block>('/block/current');
  const blocks: Block[] = [];
  for (let height = 0; height <= head.height; height += 1) {
    const block = await client.json<Block>(`/block/height/${height}`);
    const previous = blocks.at(-1);
    assert.equal(block.indep_hash, indepHash(block), `hash of block ${height}`);
    assert.equal(block.previous_block, previous?.indep_hash ?? '');
    assert.equal(block.hash_list_merkle, previous === undefined ? '' : hashListMerkle(previous));
    assert.equal(block.weave_size, (previous?.weave_size ?? 0) + block.block_size);
    assert.equal(BigInt(block.cumulative_diff), BigInt(previous?.cumulative_diff ?? 0) + BigInt(block.diff));
    await checkPlaces(client, block);
    blocks.push(block);
  }
  assert.equal(blocks.at(-1)?.indep_hash, head.indep_hash);
  const supply = BigInt(await client.text('/total_supply'));
  assert.equal(supply + BigInt(head.reward_pool), minted, 'money is conserved');
  return blocks;
}

async function checkPlaces(client: NodeClient, block: Block): Promise<void> {
  const transactions: Transaction[] = [];
  for (const id of block.txs) {
    const parsed = parseTransactionJson(await client.json(`/tx/${id}`));
    transactions.push(
      parsed.format === 1 ? { ...parsed, dataRoot: versionOneDataRoot(parsed.data) } : parsed,
    );
  }
  const tree = buildTxTree(transactions);
  assert.equal(encodeBase64url(tree.root), block.tx_root, `tx_root of block ${block.height}`);
  assert.equal(tree.size, block.block_size);
  const weaveStart = block.weave_size - block.block_size;
  for (const [index, id] of block.txs.entries()) {
    const transaction = transactions[index];
    const place = tree.placements[index];
    if (transaction === undefined || place === undefined || transaction.dataSize === 0) continue;
    const offset = await client.json<{ offset: string; size: string }>(`/tx/${id}/offset`);
    assert.deepEqual(offset, { offset: String(weaveStart + place.end), size: String(transaction.dataSize) });
    await checkChunk(client, weaveStart + place.start + 1, block, transaction, place);
  }
}

async function checkChunk(
  client: NodeClient,
  offset: number,
  block: Block,
  transaction: Transaction,
  place: { start: number; end: number },
): Promise<void> {
  const answer = await client.get(`/chunk/${offset}`);
  if (answer.status === 404) return;
  const { chunk, data_path, tx_path } = JSON.parse(answer.text);
  const root = decodeBase64url(block.tx_root);
  const txLeaf = verifyPath(root, place.start, block.block_size, decodeBase64url(tx_path), 'basic');
  assert.deepEqual(txLeaf?.data, transaction.dataRoot);
  const leaf = verifyPath(transaction.dataRoot, 0, transaction.dataSize, decodeBase64url(data_path));
  assert.deepEqual(leaf?.data, sha256(decodeBase64url(chunk)));
}
