/**
 * Signed requests to an S3-compatible store (AWS Signature Version 4), path style, with time-outs.
 *
 * Every request of ours may be repeated without harm, so that failures of the network or the store
 * (429, 5xx) are tried again a few times; then the store counts as unavailable.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';
import { backoffMs } from '../../../kernel/background/backoff.ts';
import { messageOf } from '../../../kernel/errors.ts';
import { BlobStoreUnavailable } from '../blobs.ts';
import type { S3Address } from './address.ts';
import { S3Signer } from './sign.ts';

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Within the bucket and its prefix; empty for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** SHA-256 of the body, where the caller knows it already. */
  readonly bodyDigest?: string;
}

export type S3Response = Dispatcher.ResponseData;

const attempts = 4;
const backoff = { firstMs: 100, longestMs: 1_000 };
const maxTextLength = 64 * 1024;
const emptyDigest = createHash('sha256').digest('hex');

export class S3Client {
  readonly #address: S3Address;
  readonly #agent: Agent;
  readonly #signer: S3Signer;

  constructor(address: S3Address) {
    this.#address = address;
    this.#signer = new S3Signer(address);
    this.#agent = new Agent({
      connections: 64,
      connect: { timeout: 5_000 },
      headersTimeout: 60_000,
      bodyTimeout: 30_000,
      keepAliveTimeout: 10_000,
    });
  }

  /** Where a key is, as the header `x-amz-copy-source` wants it. */
  copySource(key: string): string {
    return `/${this.#address.bucket}/${this.#address.prefix}${key}`;
  }

  /** An answer with one of the expected statuses; its body must be read or dumped. */
  async send(wanted: S3Request, expected: readonly number[]): Promise<S3Response> {
    for (let attempt = 1; ; attempt += 1) {
      const last = attempt === attempts;
      let response: S3Response | undefined;
      try {
        response = await this.#attempt(wanted);
      } catch (error) {
        if (last) throw unreachable(error);
      }
      if (response !== undefined) {
        if (expected.includes(response.statusCode)) return response;
        const answer = await text(response).catch(() => '');
        const passing = response.statusCode === 429 || response.statusCode >= 500;
        if (!passing || last) throw refused(wanted, response.statusCode, answer);
      }
      await sleep(backoffMs(backoff, attempt) * (0.5 + Math.random() / 2));
    }
  }

  /** Sends and reads a short XML answer. Some failures come with status 200 and say so in the body. */
  async ask(wanted: S3Request): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await readText(await this.send(wanted, [200]));
      if (!answer.includes('<Error>')) return answer;
      if (attempt === attempts || errorCode(answer) !== 'InternalError') throw refused(wanted, 200, answer);
    }
  }

  /** Sends where only success matters. */
  async tell(wanted: S3Request, expected: readonly number[] = [200, 204]): Promise<S3Response> {
    const response = await this.send(wanted, expected);
    await response.body.dump().catch(() => {});
    return response;
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #attempt(wanted: S3Request): Promise<S3Response> {
    const { method, key, query = {}, headers = {}, body } = wanted;
    const { origin, bucket, prefix } = this.#address;
    const url = new URL(`${origin}/${bucket}${key === '' ? '' : `/${prefix}${key}`}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const bodyDigest = wanted.bodyDigest ?? digestOf(body);
    return request(url, {
      dispatcher: this.#agent,
      method,
      headers: this.#signer.sign({ method, url, headers, bodyDigest }),
      ...(body !== undefined && { body }),
    });
  }
}

/** The text of an element of a short XML answer, with the five entities of XML resolved. */
export function element(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found?.replace(/&(quot|apos|lt|gt|amp|#34);/g, (_, entity: string) => entities[entity] ?? '');
}

const entities: Record<string, string> = { quot: '"', '#34': '"', apos: "'", lt: '<', gt: '>', amp: '&' };

async function readText(response: S3Response): Promise<string> {
  try {
    return await text(response);
  } catch (error) {
    throw unreachable(error);
  }
}

async function text(response: S3Response): Promise<string> {
  let collected = '';
  for await (const piece of response.body.setEncoding('utf8')) {
    collected += piece;
    if (collected.length > maxTextLength) throw new Error('the answer is too long');
  }
  return collected;
}

function digestOf(body: Uint8Array | undefined): string {
  return body === undefined ? emptyDigest : createHash('sha256').update(body).digest('hex');
}

function errorCode(answer: string): string | undefined {
  return element(answer, 'Code');
}

export function unreachable(error: unknown): BlobStoreUnavailable {
  return new BlobStoreUnavailable(`the blob store cannot be reached: ${messageOf(error)}`, { cause: error });
}

function refused(wanted: S3Request, status: number, answer: string): BlobStoreUnavailable {
  const code = errorCode(answer) ?? 'no reason given';
  return new BlobStoreUnavailable(`the blob store refused ${wanted.method}: ${status} ${code}`);
}
