/**
 * Signed requests to an S3-compatible store (AWS Signature Version 4), path style, with time-outs.
 *
 * Every request of ours may be repeated without harm, so that failures of the network or the store
 * (429, 5xx) are tried again a few times; then the store counts as unavailable. A store that asks for fewer requests
 * (429, `SlowDown`, `Retry-After`) is asked again more often and more slowly, and never sooner than it says.
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

/** How long the store is waited for. */
export interface S3Timeouts {
  /** For an answer to begin. */
  readonly answerMs: number;
  /** For the next bytes of an answer. */
  readonly bytesMs: number;
  /** No request is repeated that would end after so long. */
  readonly giveUpMs: number;
}

export const defaultTimeouts: S3Timeouts = { answerMs: 60_000, bytesMs: 30_000, giveUpMs: 90_000 };

const failing = { attempts: 4, firstMs: 100, longestMs: 1_000 };
const throttled = { attempts: 8, firstMs: 200, longestMs: 5_000 };
/** Answers that ask for fewer requests, by the names that stores give them. */
const throttlingCodes = new Set(['SlowDown', 'RequestLimitExceeded', 'TooManyRequests', 'Throttling']);
/** Others that pass, whatever status they come with. */
const passingCodes = new Set(['InternalError', 'ServiceUnavailable', 'RequestTimeout', 'OperationAborted']);
const maxTextLength = 64 * 1024;
const emptyDigest = createHash('sha256').digest('hex');

export class S3Client {
  readonly #address: S3Address;
  readonly #agent: Agent;
  readonly #giveUpMs: number;
  readonly #signer: S3Signer;

  constructor(address: S3Address, { answerMs, bytesMs, giveUpMs }: S3Timeouts = defaultTimeouts) {
    this.#address = address;
    this.#giveUpMs = giveUpMs;
    this.#signer = new S3Signer(address);
    this.#agent = new Agent({
      connections: 64,
      connect: { timeout: 5_000 },
      headersTimeout: answerMs,
      bodyTimeout: bytesMs,
      keepAliveTimeout: 10_000,
    });
  }

  /** Before every key in the bucket; see `S3Address`. */
  get prefix(): string {
    return this.#address.prefix;
  }

  /** Where a key is, as the header `x-amz-copy-source` wants it. */
  copySource(key: string): string {
    return `/${this.#address.bucket}/${this.#address.prefix}${key}`;
  }

  /** An answer with one of the expected statuses; its body must be read or dumped. */
  send(wanted: S3Request, expected: readonly number[]): Promise<S3Response> {
    return this.#repeat(() => this.#attempt(wanted, expected));
  }

  /**
   * Sends and reads an XML answer, which is short unless `maxLength` allows more. Some failures come with status 200 and
   * say so in the body.
   */
  ask(
    wanted: S3Request,
    maxLength = maxTextLength,
  ): Promise<{ xml: string; headers: S3Response['headers'] }> {
    return this.#repeat(async () => {
      const response = await this.#attempt(wanted, [200]);
      const xml = await text(response, maxLength).catch((error: unknown) => {
        throw new PassingFailure(unreachable(error));
      });
      if (!xml.includes('<Error>')) return { xml, headers: response.headers };
      throw judged(new S3Refusal(wanted, response.statusCode, errorCode(xml)));
    });
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

  async #repeat<T>(attempt: () => Promise<T>): Promise<T> {
    const began = performance.now();
    for (let failures = 1; ; failures += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof PassingFailure)) throw error;
        const rule = error.isThrottled ? throttled : failing;
        // By chance, so that those who were refused together do not come back together.
        const waitMs = error.afterMs + backoffMs(rule, failures) * (0.5 + Math.random() / 2);
        const isLate = performance.now() + waitMs - began > this.#giveUpMs;
        if (failures >= rule.attempts || isLate) throw error.reason;
        await sleep(waitMs);
      }
    }
  }

  async #attempt(wanted: S3Request, expected: readonly number[]): Promise<S3Response> {
    let response: S3Response;
    try {
      response = await this.#request(wanted);
    } catch (error) {
      throw new PassingFailure(unreachable(error));
    }
    const { statusCode, headers } = response;
    if (expected.includes(statusCode)) return response;
    const answer = await text(response, maxTextLength).catch(() => '');
    const afterMs = retryAfterMs(headers['retry-after']);
    throw judged(new S3Refusal(wanted, statusCode, errorCode(answer)), afterMs);
  }

  #request(wanted: S3Request): Promise<S3Response> {
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

/** The store answered, and not with what was asked for. */
export class S3Refusal extends BlobStoreUnavailable {
  readonly status: number;
  readonly code: string | undefined;

  constructor(wanted: S3Request, status: number, code: string | undefined) {
    super(`the blob store refused ${wanted.method}: ${status} ${code ?? 'no reason given'}`);
    this.status = status;
    this.code = code;
  }
}

/** A failure that may be over when the request is made again. */
class PassingFailure extends Error {
  readonly reason: BlobStoreUnavailable;
  readonly isThrottled: boolean;
  /** The store wants to be left alone for so long. */
  readonly afterMs: number;

  constructor(reason: BlobStoreUnavailable, isThrottled = false, afterMs = 0) {
    super(reason.message);
    this.reason = reason;
    this.isThrottled = isThrottled;
    this.afterMs = afterMs;
  }
}

/** Whether it is worth asking again. */
function judged(refusal: S3Refusal, afterMs = 0): PassingFailure | S3Refusal {
  const { status, code = '' } = refusal;
  const isThrottled = status === 429 || afterMs > 0 || throttlingCodes.has(code);
  // What a store cannot do it cannot do a moment later either.
  const isPassing = isThrottled || passingCodes.has(code) || (status >= 500 && status !== 501);
  return isPassing ? new PassingFailure(refusal, isThrottled, afterMs) : refusal;
}

/** RFC 9110 §10.2.3: seconds or a date; 0 where there is none or it cannot be read. */
function retryAfterMs(value: string | string[] | undefined): number {
  if (typeof value !== 'string') return 0;
  if (/^[0-9]{1,6}$/.test(value)) return Number(value) * 1_000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? 0 : Math.max(0, at - Date.now());
}

/** The text of an element of an XML answer, with its entities resolved. */
export function element(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found?.replace(
    /&(?:(quot|apos|lt|gt|amp)|#(\d{1,7})|#x([\da-fA-F]{1,6}));/g,
    (_, entity: string | undefined, decimal: string | undefined, hex: string) =>
      entity === undefined ? character(decimal, hex) : (entities[entity] ?? ''),
  );
}

const entities: Record<string, string> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' };

function character(decimal: string | undefined, hex: string): string {
  const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
  return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
}

async function text(response: S3Response, maxLength: number): Promise<string> {
  let collected = '';
  for await (const piece of response.body.setEncoding('utf8')) {
    collected += piece;
    if (collected.length > maxLength) throw new Error('the answer is too long');
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
