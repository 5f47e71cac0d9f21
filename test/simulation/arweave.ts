/**
 * The Arweave network of the simulated world: nodes with a chain, a mempool and chunks of their own each. They mine by chance,
 * hear of each other's blocks late, and follow the longest chain; so there are forks without anybody making them. Blocks, fees
 * and proofs are those of the local network's node.
 */
import { hash } from 'node:crypto';
import { verifyPath } from '../../src/formats/arweave/proof.ts';
import type { Transaction } from '../../src/formats/arweave/transaction.ts';
import { parseTransactionJson, transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import { ownerAddress, verifyTransactionAsync } from '../../src/formats/arweave/transaction-signature.ts';
import { buildTxTree } from '../../src/formats/arweave/tx-tree.ts';
import { encodeBase64url } from '../../src/formats/base64url.ts';
import { tryParseJson } from '../../src/formats/json.ts';
import { type Block, makeBlock, noPoa } from '../../src/localnet/arweave/chain/blocks.ts';
import { parseChunk } from '../../src/localnet/arweave/chain/chunks.ts';
import { ANCHOR_AGE, ANCHOR_DEPTH, NETWORK, storageFee } from '../../src/localnet/arweave/rules.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Answered, Asked, Network } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import type { World } from './world.ts';

interface PostedTransaction {
  readonly id: string;
  readonly owner: string;
  readonly anchor: string;
  readonly dataRoot: string;
  readonly dataSize: number;
  readonly reward: bigint;
  readonly transaction: Transaction;
  /** As a node tells it. */
  readonly header: string;
}

interface MinedBlock {
  readonly block: Block;
  readonly transactions: readonly MinedTransaction[];
}

export interface MinedTransaction extends PostedTransaction {
  readonly height: number;
  readonly blockId: string;
  /** One past the last byte in the weave. */
  readonly end: number;
  readonly txPath: Buffer;
}

interface StoredChunk {
  readonly start: number;
  readonly end: number;
  readonly dataPath: Buffer;
  bytes: Buffer;
}

/** Of the slowest chains. */
const slowestBlockMs = 120_000;
const slowestSyncMs = 600_000;
/** A node that is further behind makes no blocks until it has caught up: no fork may be as deep as what counts as permanent. */
const mostBehind = 4;
/** In a night one of so many blocks of the slowest chains is made. */
const nightlyShare = 30;

export class ArweaveNetwork {
  readonly nodes: readonly SimulatedNode[];
  /** Winston that wallets were given. */
  readonly funds = new Map<string, bigint>();
  /** When a node first took a transaction, by its id. */
  readonly takenAt = new Map<string, number>();
  /** When a node first took a chunk, by its data root. */
  readonly seededAt = new Map<string, number>();
  readonly #world: World;
  readonly #random: SeededRandom;
  #nonce = 0n;

  /** `name`: of its nodes, each with a number. */
  constructor(world: World, network: Network, count: number, name = 'node') {
    this.#world = world;
    this.#random = world.random(name === 'node' ? 'arweave' : `arweave ${name}`);
    const first: MinedBlock = { block: this.#make(undefined, []), transactions: [] };
    this.nodes = Array.from(
      { length: count },
      (_, index) => new SimulatedNode(this, world.process(`${name}-${index + 1}`), network, first),
    );
    this.#mineLater();
    this.#syncLater();
  }

  get pace(): number {
    return this.#world.pace;
  }

  /** The chain that the others will follow: the longest. */
  get best(): SimulatedNode {
    return this.nodes.reduce((best, node) => (node.height > best.height ? node : best));
  }

  /** A block on what this node knows. */
  #mine(node: SimulatedNode): void {
    const chosen = node.minable();
    const tree = buildTxTree(chosen.map(({ transaction }) => transaction));
    const previous = node.tip.block;
    const block = this.#make(previous, chosen, tree);
    const mined: MinedBlock = {
      block,
      transactions: chosen.map((one, index) => ({
        ...one,
        height: block.height,
        blockId: block.indep_hash,
        end: previous.weave_size + (tree.placements[index]?.end ?? 0),
        txPath: tree.placements[index]?.txPath ?? Buffer.alloc(0),
      })),
    };
    node.append(mined);
    if (chosen.length > 0)
      this.#world.tell(
        node.process.name,
        `mined ${chosen.map(({ id }) => short(id)).join(', ')} at ${block.height}`,
      );
    for (const other of this.nodes) if (other !== node) this.#hear(other, node);
  }

  #make(previous: Block | undefined, chosen: readonly PostedTransaction[], tree = buildTxTree([])): Block {
    return makeBlock({
      previous,
      timestamp: Math.floor(this.#world.now / 1_000),
      nonce: this.#nonce++,
      txs: chosen.map(({ id }) => id),
      txRoot: tree.root,
      size: tree.size,
      walletList: '',
      rewardPool: 0n,
      reward: 0n,
      poa: noPoa,
    });
  }

  /** A block reaches another node after a moment, or when it listens to the others again. */
  #hear(node: SimulatedNode, from: SimulatedNode): void {
    this.#world.schedule(100 + 8_000 * this.#random.fraction() ** 3, () => {
      if (!node.isAlone && !from.isAlone && node.isUp) node.follow(from);
    });
  }

  /** In a night there are few blocks: whoever comes back reads them all. */
  #sleeps(): boolean {
    return this.#world.isNight && this.#random.below(nightlyShare / this.#world.pace) > 0;
  }

  #mineLater(): void {
    const blockMs = slowestBlockMs * this.#world.pace;
    const wait = -Math.log(1 - this.#random.fraction()) * blockMs;
    this.#world.schedule(Math.min(wait, 10 * blockMs), () => {
      this.#mineLater();
      if (this.#sleeps()) return;
      const { height } = this.best;
      const able = this.nodes.filter((node) => node.isUp && height - node.height <= mostBehind);
      if (able.length > 0) this.#mine(this.#random.pick(able));
    });
  }

  /** Nodes give each other what they lack: blocks, transactions, and chunks of what is mined. */
  #syncLater(): void {
    this.#world.schedule(slowestSyncMs * this.#world.pace * (0.5 + this.#random.fraction()), () => {
      this.#syncLater();
      if (this.#sleeps()) return;
      for (const node of this.nodes) {
        for (const other of this.nodes) {
          if (node === other || node.isAlone || other.isAlone || !node.isUp || !other.isUp) continue;
          node.follow(other);
          node.copyFrom(other);
        }
      }
    });
  }

  /** The bytes of a mined transaction, from whichever nodes have them. */
  dataOf({ dataRoot, dataSize }: MinedTransaction): Buffer | undefined {
    const parts: Buffer[] = [];
    for (let at = 0; at < dataSize; ) {
      const chunk = this.nodes.map((node) => node.chunkOf(dataRoot, at)).find((one) => one !== undefined);
      if (chunk === undefined) return undefined;
      parts.push(chunk.bytes);
      at = chunk.end;
    }
    return Buffer.concat(parts);
  }
}

const text = (body: string, status = 200): Answered => ({
  status,
  body,
  headers: { 'content-type': 'text/plain' },
});
const json = (body: string, status = 200): Answered => ({
  status,
  body,
  headers: { 'content-type': 'application/json' },
});
export const short = (id: string): string => id.slice(0, 6);

function noteFirst(times: Map<string, number>, key: string, time: number): void {
  if (!times.has(key)) times.set(key, time);
}

export class SimulatedNode {
  readonly url: string;
  readonly process: SimulatedProcess;
  /** Hears no other node, and is heard by none. */
  isAlone = false;
  /** Blocks by which it says to be higher than it is. */
  heightLie = 0;
  /** Has blocks, and knows none of the transactions in them, as one that was just set up. */
  lacksHeaders = false;
  /** Chunks that it gives out are wrong. */
  spoilsChunks = false;
  /** Takes no transaction. */
  refuses = false;
  readonly #of: ArweaveNetwork;
  readonly #network: Network;
  readonly #chain: MinedBlock[];
  readonly #mined = new Map<string, MinedTransaction>();
  readonly #mempool = new Map<string, PostedTransaction>();
  readonly #chunks = new Map<string, StoredChunk[]>();
  readonly #spent = new Map<string, bigint>();

  constructor(of: ArweaveNetwork, process: SimulatedProcess, network: Network, first: MinedBlock) {
    this.#of = of;
    this.process = process;
    this.#network = network;
    this.url = `http://${process.name}.test`;
    this.#chain = [first];
    this.up();
  }

  get isUp(): boolean {
    return this.process.isRunning;
  }

  up(): void {
    const life = this.process.start(async () => {});
    this.#network.host(this.url, life, async (asked) => {
      const answered = await this.#answer(asked);
      const date = new Date(this.process.world.now).toUTCString();
      return { ...answered, headers: { ...answered.headers, date } };
    });
  }

  /** What waits to be mined is not kept over a restart. */
  down(): void {
    this.process.kill();
    this.forgetMempool();
  }

  forgetMempool(): void {
    this.#mempool.clear();
  }

  /** Loses some of its chunks of what is mined, of which another has all; answers whose. */
  forgetChunks(random: SeededRandom): string[] {
    const lost: string[] = [];
    for (const { dataRoot, id } of this.#mined.values()) {
      const chunks = this.#chunks.get(dataRoot)?.length ?? 0;
      const isElsewhere = this.#of.nodes.some(
        (node) => node !== this && (node.#chunks.get(dataRoot)?.length ?? 0) >= chunks,
      );
      if (isElsewhere && random.below(3) === 0 && this.#chunks.delete(dataRoot)) lost.push(id);
    }
    return lost;
  }

  get tip(): MinedBlock {
    return this.#chain.at(-1)!;
  }

  get height(): number {
    return this.tip.block.height;
  }

  get mined(): ReadonlyMap<string, MinedTransaction> {
    return this.#mined;
  }

  chunkOf(dataRoot: string, offset: number): StoredChunk | undefined {
    return this.#chunks.get(dataRoot)?.find(({ start, end }) => start <= offset && offset < end);
  }

  /** What the next block may hold. What can no longer be mined is forgotten. */
  minable(): PostedTransaction[] {
    const chosen: PostedTransaction[] = [];
    const left = new Map<string, bigint>();
    for (const one of this.#mempool.values()) {
      const balance = left.get(one.owner) ?? this.balance(one.owner);
      if (!this.#isGoodAnchor(one.anchor) || this.#mined.has(one.id)) this.#mempool.delete(one.id);
      else if (balance >= one.reward) {
        left.set(one.owner, balance - one.reward);
        chosen.push(one);
      }
    }
    return chosen;
  }

  append(mined: MinedBlock): void {
    this.#chain.push(mined);
    for (const one of mined.transactions) {
      this.#mined.set(one.id, one);
      this.#mempool.delete(one.id);
      this.#spent.set(one.owner, (this.#spent.get(one.owner) ?? 0n) + one.reward);
    }
  }

  /** Takes the other's chain where that is longer. */
  follow(other: SimulatedNode): void {
    if (other.height <= this.height) return;
    const theirs = other.#chain;
    let same = Math.min(this.#chain.length, theirs.length);
    while (same > 0 && this.#chain[same - 1] !== theirs[same - 1]) same -= 1;
    const depth = this.#chain.length - same;
    if (depth > 0) this.process.tell(`leaves ${depth} blocks for the longer chain`);
    for (const { transactions } of this.#chain.splice(same)) {
      for (const one of transactions) {
        this.#mined.delete(one.id);
        this.#spent.set(one.owner, (this.#spent.get(one.owner) ?? 0n) - one.reward);
        this.#mempool.set(one.id, one);
      }
    }
    for (const block of theirs.slice(same)) this.append(block);
  }

  copyFrom(other: SimulatedNode): void {
    for (const one of other.#mempool.values()) {
      if (!this.#mined.has(one.id)) this.#mempool.set(one.id, one);
    }
    for (const { dataRoot } of this.#mined.values()) {
      for (const chunk of other.#chunks.get(dataRoot) ?? []) this.#store(dataRoot, chunk);
    }
  }

  balance(address: string): bigint {
    const left = (this.#of.funds.get(address) ?? 0n) - (this.#spent.get(address) ?? 0n);
    return left < 0n ? 0n : left;
  }

  #isGoodAnchor(anchor: string): boolean {
    return this.#chain.slice(-ANCHOR_DEPTH).some(({ block }) => block.indep_hash === anchor);
  }

  #store(dataRoot: string, chunk: StoredChunk): void {
    const chunks = this.#chunks.get(dataRoot) ?? [];
    if (!chunks.some(({ start }) => start === chunk.start)) chunks.push(chunk);
    this.#chunks.set(dataRoot, chunks);
  }

  async #answer({ method, path, body }: Asked): Promise<Answered> {
    const [, first = '', second = '', third = ''] = (path.split('?')[0] ?? '').split('/');
    if (method === 'POST') return first === 'tx' ? this.#post(body) : this.#postChunk(body);
    switch (first) {
      case 'info':
        return json(this.#info());
      case 'height':
        return text(String(this.height + this.heightLie));
      case 'price':
        return text(String(storageFee(BigInt(second), false)));
      case 'wallet':
        return text(String(this.balance(second)));
      case 'tx_anchor':
        return text(this.#chain[Math.max(0, this.#chain.length - 1 - ANCHOR_AGE)]!.block.indep_hash);
      case 'tx':
        return this.#transaction(second, third);
      case 'unconfirmed_tx':
        return this.#header(second, true);
      case 'chunk':
        return this.#chunk(Number(second));
      case 'block':
        return this.#block(second, third);
      default:
        return json('{"error":"unknown"}', 404);
    }
  }

  #info(): string {
    const height = this.height + this.heightLie;
    return JSON.stringify({
      ...{ network: NETWORK, version: 5, release: 92, height, current: this.tip.block.indep_hash },
      ...{ blocks: height + 1, peers: 2, queue_length: this.#mempool.size, node_state_latency: 0 },
    });
  }

  #block(kind: string, which: string): Answered {
    const found =
      kind === 'current'
        ? this.tip
        : kind === 'height'
          ? this.#chain[Number(which)]
          : this.#chain.find(({ block }) => block.indep_hash === which);
    return found === undefined ? text('Block not found.', 404) : json(JSON.stringify(found.block));
  }

  #transaction(id: string, field: string): Answered {
    if (id === 'pending') return json(JSON.stringify([...this.#mempool.keys()]));
    if (field === '') return this.#header(id, false);
    const mined = this.lacksHeaders ? undefined : this.#mined.get(id);
    if (field === 'offset') {
      if (mined === undefined) return text('', 404);
      return json(JSON.stringify({ offset: String(mined.end), size: String(mined.dataSize) }));
    }
    if (mined === undefined) return this.#mempool.has(id) ? text('Pending', 202) : text('Not Found.', 404);
    return json(
      JSON.stringify({
        block_height: mined.height,
        block_indep_hash: mined.blockId,
        number_of_confirmations: this.height - mined.height + 1,
      }),
    );
  }

  #header(id: string, isPendingTold: boolean): Answered {
    const mined = this.lacksHeaders ? undefined : this.#mined.get(id);
    if (mined !== undefined) return json(mined.header);
    const pending = this.#mempool.get(id);
    if (pending === undefined) return text('Not Found.', 404);
    return isPendingTold ? json(pending.header) : text('Pending', 202);
  }

  #chunk(offset: number): Answered {
    for (const { end, dataSize, dataRoot, txPath } of this.#mined.values()) {
      const at = offset - 1 - (end - dataSize);
      if (at < 0 || at >= dataSize) continue;
      const chunk = this.chunkOf(dataRoot, at);
      if (chunk === undefined) break;
      const bytes = Buffer.from(chunk.bytes);
      if (this.spoilsChunks) bytes[0] = (bytes[0] ?? 0) ^ 0xff;
      return json(
        JSON.stringify({
          chunk: encodeBase64url(bytes),
          data_path: encodeBase64url(chunk.dataPath),
          tx_path: encodeBase64url(txPath),
          packing: 'unpacked',
        }),
      );
    }
    return text('', 404);
  }

  async #post(body: Buffer): Promise<Answered> {
    if (this.refuses) return text('Transaction verification failed.', 400);
    const transaction = parseTransactionJson(tryParseJson(body.toString()));
    const id = encodeBase64url(transaction.id);
    if (this.#mined.has(id) || this.#mempool.has(id)) return text('Transaction already processed.', 208);
    const owner = ownerAddress(transaction);
    if (owner === undefined || !(await verifyTransactionAsync(transaction)))
      return text('Transaction verification failed.', 400);
    const anchor = encodeBase64url(transaction.lastTx);
    const address = encodeBase64url(owner);
    if (!this.#isGoodAnchor(anchor)) return text('Invalid anchor (last_tx).', 400);
    if (transaction.reward < storageFee(transaction.dataSize, false)) return text('tx_too_cheap', 400);
    if (this.balance(address) < transaction.reward) return text('overspend', 400);
    noteFirst(this.#of.takenAt, id, this.process.world.time);
    this.#mempool.set(id, {
      id,
      owner: address,
      anchor,
      dataRoot: encodeBase64url(transaction.dataRoot),
      dataSize: transaction.dataSize,
      reward: transaction.reward,
      transaction,
      header: JSON.stringify(transactionToJson(transaction, 'header')),
    });
    return text('OK');
  }

  #postChunk(body: Buffer): Answered {
    const { dataRoot, dataSize, dataPath, offset, bytes } = parseChunk(tryParseJson(body.toString()));
    const root = encodeBase64url(dataRoot);
    const isKnown = [...this.#mempool.values(), ...this.#mined.values()].some((one) => one.dataRoot === root);
    if (!isKnown) return json('{"error":"data_root_not_found"}', 400);
    const leaf = verifyPath(dataRoot, Number(offset), Number(dataSize), dataPath, 'rebase');
    if (leaf === undefined || !hash('sha256', bytes, 'buffer').equals(leaf.data))
      return json('{"error":"invalid_proof"}', 400);
    noteFirst(this.#of.seededAt, root, this.process.world.time);
    this.#store(root, { start: leaf.start, end: leaf.end, dataPath, bytes });
    return text('OK');
  }
}
