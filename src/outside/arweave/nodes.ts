/**
 * Arweave nodes as one chain. Nodes are asked in their order of preference; an answer that is not in the node's
 * protocol counts as no answer. No node stores everything, and any may be behind: what one does not know is absent
 * only when all of them say so, each at the height that the answer names.
 */

import type { TransactionJson } from '../../formats/arweave/transaction-json.ts';
import { tryDecodeBase64url } from '../../formats/base64url.ts';
import { isCount, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import { messageOf } from '../../kernel/errors.ts';
import { absent, combineLookUps, found, type LookUp, notKnown } from '../look-up.ts';
import { ArweaveNode, type NodeAnswer } from './node.ts';

/** No node could be asked. */
export class NodeUnavailable extends Error {
  override readonly name = 'NodeUnavailable';
}

/** Every node that was asked understood and refused; `code` is the node's own word where it has one. */
export class NodeRefused extends Error {
  override readonly name = 'NodeRefused';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(`the node refused with ${status}: ${code}`);
    this.status = status;
    this.code = code;
  }
}

export type TxStatus =
  /** In a node's memory, not in a block. */
  | { readonly state: 'pending' }
  | { readonly state: 'mined'; readonly blockHeight: number; readonly confirmations: number };

export interface ChunkUpload {
  readonly dataRoot: string;
  readonly dataSize: number;
  readonly dataPath: Buffer;
  readonly offset: number;
  readonly chunk: Buffer;
}

export interface NodeChunk {
  readonly chunk: Buffer;
  readonly dataPath: Buffer;
  /** From the transaction to the root of its block; empty where the node does not tell it. */
  readonly txPath: Buffer;
}

/** What a block says of the transactions in it. */
export interface BlockRoot {
  readonly id: string;
  /** Base64url. */
  readonly txRoot: string;
  /** How much the weave grew by it. */
  readonly size: number;
}

export interface Anchor {
  readonly anchor: Buffer;
  /** At least that of the anchor's block: asked of the same node, after the anchor. */
  readonly height: number;
}

const timeoutMs = 20_000;
const chunkTimeoutMs = 60_000;
const maxAnswerBytes = 4 * 1024 * 1024;

export class ArweaveNodes {
  readonly #nodes: readonly ArweaveNode[];

  constructor(urls: readonly string[], options: { readonly timeoutMs?: number } = {}) {
    const limits = { timeoutMs, maxBytes: maxAnswerBytes, connections: 64, ...options };
    this.#nodes = urls.map((url) => new ArweaveNode(url, limits));
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
  }

  height(): Promise<number> {
    return this.#first('/height', readHeight);
  }

  /** The highest that any says; throws where not all do, for the one that is silent may be ahead. */
  async highest(): Promise<number> {
    return Math.max(
      ...(await Promise.all(this.#nodes.map((node) => understood(node, '/height', readHeight)))),
    );
  }

  /** Winston for storing this many bytes. */
  price(bytes: number): Promise<bigint> {
    return this.#first(`/price/${bytes}`, readWinston);
  }

  /** Winston for a transaction without data to a wallet, which may have to be opened. */
  transferFee(target: string): Promise<bigint> {
    return this.#first(`/price/0/${target}`, readWinston);
  }

  balance(address: string): Promise<bigint> {
    return this.#first(`/wallet/${address}/balance`, readWinston);
  }

  anchor(): Promise<Anchor> {
    return this.#first('/tx_anchor', async (answer, node) => {
      const anchor = readAnchor(answer);
      return anchor && { anchor, height: await understood(node, '/height', readHeight) };
    });
  }

  txStatus(id: string): Promise<LookUp<TxStatus>> {
    return this.#lookUp(`/tx/${id}/status`, ({ status, body }) => {
      if (status === 202) return { state: 'pending' };
      const record = tryParseJson(body.toString());
      const blockHeight = memberOf(record, 'block_height');
      const confirmations = memberOf(record, 'number_of_confirmations');
      if (!isCount(blockHeight) || !isCount(confirmations)) return undefined;
      return { state: 'mined', blockHeight, confirmations };
    });
  }

  /** The header of a transaction as a node tells it; `pending` while it is in a node's memory only. */
  transaction(id: string): Promise<LookUp<{ readonly pending: boolean; readonly header: unknown }>> {
    return this.#lookUp(`/tx/${id}`, async ({ status, body }, node) => {
      if (status === 200) return { pending: false, header: tryParseJson(body.toString()) };
      const waiting = await node.send(`/unconfirmed_tx/${id}`);
      const header = waiting.status === 200 ? tryParseJson(waiting.body.toString()) : undefined;
      return { pending: true, header };
    });
  }

  /** End of the transaction's data in the weave, and its size. */
  txOffset(id: string): Promise<LookUp<{ readonly end: bigint; readonly size: number }>> {
    return this.#lookUp(`/tx/${id}/offset`, ({ body }) => {
      const record = tryParseJson(body.toString());
      const end = textOf(record, 'offset') ?? '';
      const size = textOf(record, 'size') ?? '';
      return /^[0-9]{1,20}$/.test(end) && /^[0-9]{1,16}$/.test(size)
        ? { end: BigInt(end), size: Number(size) }
        : undefined;
    });
  }

  /** The chunk that covers an absolute offset. A node whose chunk `isRight` refuses has not answered. */
  chunk(offset: bigint, isRight: (chunk: NodeChunk) => boolean): Promise<LookUp<NodeChunk>> {
    return this.#lookUp(`/chunk/${offset}`, ({ body }) => {
      const record = tryParseJson(body.toString());
      const chunk = tryDecodeBase64url(textOf(record, 'chunk', maxAnswerBytes) ?? '');
      const dataPath = tryDecodeBase64url(textOf(record, 'data_path', maxAnswerBytes) ?? '');
      const txPath = tryDecodeBase64url(textOf(record, 'tx_path', maxAnswerBytes) ?? '');
      if (chunk === undefined || dataPath === undefined) return undefined;
      const found = { chunk, dataPath, txPath: txPath ?? Buffer.alloc(0) };
      return isRight(found) ? found : undefined;
    });
  }

  block(height: number): Promise<LookUp<BlockRoot>> {
    return this.#lookUp(`/block/height/${height}`, ({ body }) => {
      const record = tryParseJson(body.toString());
      const id = textOf(record, 'indep_hash');
      const txRoot = textOf(record, 'tx_root');
      const size = Number(textOf(record, 'block_size') ?? memberOf(record, 'block_size'));
      return id === undefined || txRoot === undefined || !isCount(size) ? undefined : { id, txRoot, size };
    });
  }

  /**
   * Posts to every node, so that each one that gets chunks knows their root; one that takes it is enough.
   * Throws `NodeRefused` only where all of them refused: one that did not answer may have taken it.
   */
  async postTransaction(tx: TransactionJson): Promise<void> {
    await this.#toAll('/tx', tx, timeoutMs);
  }

  async postChunk(upload: ChunkUpload): Promise<void> {
    const body = {
      data_root: upload.dataRoot,
      data_size: String(upload.dataSize),
      data_path: upload.dataPath.toString('base64url'),
      offset: String(upload.offset),
      chunk: upload.chunk.toString('base64url'),
    };
    await this.#toAll('/chunk', body, chunkTimeoutMs);
  }

  async #toAll(path: string, body: object, timeout: number): Promise<void> {
    const outcomes = await Promise.allSettled(
      this.#nodes.map(async (node) => {
        const answer = await node.send(path, {
          body: Buffer.from(JSON.stringify(body)),
          contentType: 'application/json',
          timeoutMs: timeout,
        });
        const { status } = answer;
        // 208: known already. 303: taken into the node's pool. Both are success.
        if (status === 200 || status === 208 || status === 303) return;
        if (status >= 500 || status === 429) throw new NodeUnavailable(`${path} answered ${status}`);
        throw new NodeRefused(status, refusalOf(answer.body.toString()));
      }),
    );
    if (outcomes.some((outcome) => outcome.status === 'fulfilled')) return;
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    const refusal = reasons.find((reason) => reason instanceof NodeRefused);
    if (refusal !== undefined && reasons.every((reason) => reason instanceof NodeRefused)) throw refusal;
    throw unavailable(path, reasons);
  }

  /** The first node's answer that `read` understands. */
  async #first<T>(path: string, read: Reader<T>): Promise<T> {
    const failures: unknown[] = [];
    for (const node of this.#nodes) {
      try {
        return await understood(node, path, read);
      } catch (error) {
        failures.push(error);
      }
    }
    throw unavailable(path, failures);
  }

  /** What one node may have and another not. `read` sees 200 and 202; undefined is an answer that is none. */
  async #lookUp<T>(path: string, read: Reader<T>): Promise<LookUp<T>> {
    const answers: LookUp<T>[] = [];
    for (const node of this.#nodes) {
      const answer = await this.#lookUpAt(node, path, read).catch(notKnown);
      if (answer.state === 'found') return answer;
      answers.push(answer);
    }
    return combineLookUps(answers);
  }

  async #lookUpAt<T>(node: ArweaveNode, path: string, read: Reader<T>): Promise<LookUp<T>> {
    const first = await node.send(path);
    const [height, answer] = saysAbsent(first)
      ? // The height first, then the question again: only so does the absence hold at that height.
        [await understood(node, '/height', readHeight), await node.send(path)]
      : [0, first];
    if (saysAbsent(answer)) return absent(height);
    if (answer.status !== 200 && answer.status !== 202) throw new Error(`${path} answered ${answer.status}`);
    const value = await read(answer, node);
    if (value === undefined) throw new Error(`${path} answered nonsense`);
    return found(value, height);
  }
}

type Reader<T> = (answer: NodeAnswer, node: ArweaveNode) => T | undefined | Promise<T | undefined>;

const saysAbsent = ({ status }: NodeAnswer): boolean => status === 404 || status === 410;

async function understood<T>(node: ArweaveNode, path: string, read: Reader<T>): Promise<T> {
  const answer = await node.send(path);
  if (answer.status !== 200) throw new Error(`a node answered ${answer.status}`);
  const value = await read(answer, node);
  if (value === undefined) throw new Error('a node answered nonsense');
  return value;
}

function readHeight({ body }: NodeAnswer): number | undefined {
  const text = body.toString();
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

function readWinston({ body }: NodeAnswer): bigint | undefined {
  const text = body.toString().trim();
  return /^[0-9]{1,30}$/.test(text) ? BigInt(text) : undefined;
}

function readAnchor({ body }: NodeAnswer): Buffer | undefined {
  const anchor = tryDecodeBase64url(body.toString());
  return anchor !== undefined && anchor.length > 0 && anchor.length <= 48 ? anchor : undefined;
}

/** Whoever shows the error also shows its cause: why each of the first few nodes is no help. */
function unavailable(path: string, failures: readonly unknown[]): NodeUnavailable {
  const reasons = [...new Set(failures.map(messageOf))].slice(0, 3).join('; ').slice(0, 300);
  return new NodeUnavailable(`no Arweave node answered ${path}`, {
    cause: new AggregateError(failures, reasons),
  });
}

function refusalOf(text: string): string {
  return (textOf(tryParseJson(text), 'error') ?? text).slice(0, 200);
}
