/**
 * What this surface asks of Arweave nodes. Nodes are tried in their order of preference; an answer that is not in
 * the node's protocol counts as no answer.
 */
import { Agent, request } from 'undici';
import type { TransactionJson } from '../../formats/arweave/transaction-json.ts';
import { tryDecodeBase64url } from '../../formats/base64url.ts';

export class NodeUnavailable extends Error {
  override readonly name = 'NodeUnavailable';
}

/** The node understood and refused; `code` is its own word where it has one. */
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

export interface TxStatus {
  readonly state: 'mined' | 'pending' | 'unknown';
  readonly blockHeight: number;
  readonly confirmations: number;
}

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
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const timeoutMs = 20_000;
const chunkTimeoutMs = 60_000;
const maxAnswerBytes = 2 * 1024 * 1024;

export class ArweaveNodes {
  readonly #urls: readonly string[];
  readonly #agent = new Agent({ connections: 64, connect: { timeout: 5_000 }, keepAliveTimeout: 10_000 });

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async height(): Promise<number> {
    return this.#first('/height', ({ text }) => (/^[0-9]{1,15}$/.test(text) ? Number(text) : undefined));
  }

  /** Winston for storing this many bytes. */
  async price(bytes: number): Promise<bigint> {
    return this.#first(`/price/${bytes}`, ({ text }) =>
      /^[0-9]{1,30}$/.test(text) ? BigInt(text) : undefined,
    );
  }

  async anchor(): Promise<Buffer> {
    return this.#first('/tx_anchor', ({ text }) => {
      const anchor = tryDecodeBase64url(text);
      return anchor !== undefined && anchor.length > 0 && anchor.length <= 48 ? anchor : undefined;
    });
  }

  async balance(address: string): Promise<bigint> {
    return this.#first(`/wallet/${address}/balance`, ({ text }) =>
      /^[0-9]{1,30}$/.test(text) ? BigInt(text) : undefined,
    );
  }

  async txStatus(id: string): Promise<TxStatus> {
    const found = await this.#find<TxStatus>(`/tx/${id}/status`, ({ status, text }) => {
      if (status === 202) return { state: 'pending', blockHeight: 0, confirmations: 0 };
      const body = parseJson(text);
      const blockHeight = memberOf(body, 'block_height');
      const confirmations = memberOf(body, 'number_of_confirmations');
      if (!isCount(blockHeight) || !isCount(confirmations)) return undefined;
      return { state: 'mined', blockHeight, confirmations };
    });
    return found ?? { state: 'unknown', blockHeight: 0, confirmations: 0 };
  }

  /** End of the transaction's data in the weave, and its size; undefined while it is not known. */
  async txOffset(id: string): Promise<{ readonly end: bigint; readonly size: number } | undefined> {
    return this.#find(`/tx/${id}/offset`, ({ text }) => {
      const body = parseJson(text);
      const end = memberOf(body, 'offset');
      const size = memberOf(body, 'size');
      if (typeof end !== 'string' || typeof size !== 'string') return undefined;
      return /^[0-9]{1,20}$/.test(end) && /^[0-9]{1,16}$/.test(size)
        ? { end: BigInt(end), size: Number(size) }
        : undefined;
    });
  }

  /** The chunk that covers an absolute offset; undefined when no node has it. */
  async chunk(offset: bigint): Promise<NodeChunk | undefined> {
    return this.#find(`/chunk/${offset}`, ({ text }) => {
      const body = parseJson(text);
      const chunk = memberOf(body, 'chunk');
      const dataPath = memberOf(body, 'data_path');
      if (typeof chunk !== 'string' || typeof dataPath !== 'string') return undefined;
      const bytes = tryDecodeBase64url(chunk);
      const path = tryDecodeBase64url(dataPath);
      return bytes === undefined || path === undefined ? undefined : { chunk: bytes, dataPath: path };
    });
  }

  /** Posts to every node, so that each one that gets chunks knows their root; one that takes it is enough. */
  async postTransaction(tx: TransactionJson): Promise<void> {
    await this.#toAll('/tx', JSON.stringify(tx), timeoutMs);
  }

  async postChunk(upload: ChunkUpload): Promise<void> {
    const body = JSON.stringify({
      data_root: upload.dataRoot,
      data_size: String(upload.dataSize),
      data_path: upload.dataPath.toString('base64url'),
      offset: String(upload.offset),
      chunk: upload.chunk.toString('base64url'),
    });
    await this.#toAll('/chunk', body, chunkTimeoutMs);
  }

  async #toAll(path: string, body: string, timeout: number): Promise<void> {
    const outcomes = await Promise.allSettled(
      this.#urls.map(async (url) => {
        const { status, text } = await this.#call(url, path, timeout, body);
        // 208: known already. 303: taken into the node's pool. Both are success.
        if (status === 200 || status === 208 || status === 303) return;
        if (status >= 500 || status === 429) throw new NodeUnavailable(`${path} answered ${status}`);
        throw new NodeRefused(status, refusalOf(text));
      }),
    );
    if (outcomes.some((outcome) => outcome.status === 'fulfilled')) return;
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    throw (
      reasons.find((reason) => reason instanceof NodeRefused) ?? reasons[0] ?? new NodeUnavailable('no nodes')
    );
  }

  /** The first node's answer that `read` understands. */
  async #first<T>(path: string, read: (answer: Answer) => T | undefined): Promise<T> {
    const value = await this.#find(path, read);
    if (value === undefined) throw new NodeUnavailable(`no Arweave node has ${path}`);
    return value;
  }

  /** The same for what one node may have and another not; undefined when nobody who answers has it. */
  async #find<T>(path: string, read: (answer: Answer) => T | undefined): Promise<T | undefined> {
    const failures: unknown[] = [];
    let isAbsent = false;
    for (const url of this.#urls) {
      try {
        const answer = await this.#call(url, path, timeoutMs);
        if (answer.status === 404) {
          isAbsent = true;
          continue;
        }
        const expected = answer.status === 200 || answer.status === 202;
        const value = expected ? read(answer) : undefined;
        if (value !== undefined) return value;
        failures.push(new Error(`${path} answered ${answer.status}`));
      } catch (error) {
        failures.push(error);
      }
    }
    if (isAbsent) return undefined;
    throw new NodeUnavailable(`no Arweave node answered ${path}`, { cause: new AggregateError(failures) });
  }

  async #call(url: string, path: string, timeout: number, body?: string): Promise<Answer> {
    const answer = await request(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      dispatcher: this.#agent,
      headersTimeout: timeout,
      bodyTimeout: timeout,
      signal: AbortSignal.timeout(timeout),
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    });
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of answer.body) {
      size += part.length;
      if (size > maxAnswerBytes) throw new NodeUnavailable(`${path} answered too much`);
      parts.push(part);
    }
    return { status: answer.statusCode, text: Buffer.concat(parts).toString() };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value
    ? new Map(Object.entries(value)).get(name)
    : undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function refusalOf(text: string): string {
  const error = memberOf(parseJson(text), 'error');
  return (typeof error === 'string' ? error : text).slice(0, 200);
}
