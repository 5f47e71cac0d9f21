/**
 * Sends items to an upload service: small ones whole, large ones in parts that survive a broken connection and a
 * broken run. What the service has already is not sent again.
 */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { StartupError } from '../../kernel/errors.ts';
import { reasonOf, ServiceClient } from '../service-client.ts';
import { severalAtOnce } from '../several-at-once.ts';
import type { UploadItem } from './file-item.ts';

const partBytes = 10 * 1024 * 1024;
const partsAtOnce = 4;
const tries = 6;
const polls = { firstMs: 100, longestMs: 5_000 };
const retries = { firstMs: 500, longestMs: 8_000 };

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface ItemStatus {
  /** CONFIRMED, FINALIZED or FAILED. */
  readonly status: string;
  /** What it cost. */
  readonly winc: bigint;
}

/** Headers, and the part of an item that is the body. */
interface Sending {
  readonly headers?: Record<string, string>;
  readonly item?: UploadItem;
  readonly start?: number;
  readonly end?: number;
  /** Bytes that this request may be refused for. */
  readonly paysFor?: number;
}

/** The service refused for good: its own words. */
export class UploadRefused extends StartupError {}

/** Whoever pays has not enough credits. */
export class NotEnoughCredits extends UploadRefused {
  /** Size of the item that was to be paid for. */
  readonly bytes: number;

  constructor(bytes: number) {
    super('there are not enough credits for this upload');
    this.bytes = bytes;
  }
}

export class UploadClient {
  readonly #service: ServiceClient;
  /** A service that has answered comes back; one that never did is not there. */
  #answered = false;

  constructor(url: string) {
    this.#service = new ServiceClient('upload service', url, 300_000);
  }

  /** Where readers find what is stored. */
  async gateway(): Promise<string> {
    return textAt((await this.#call('GET', '/info')).body, 'gateway');
  }

  /** Items up to this size cost nothing, within an allowance. */
  async freeBytes(): Promise<number> {
    const free = memberOf((await this.#call('GET', '/info')).body, 'freeUploadLimitBytes');
    return typeof free === 'number' ? free : 0;
  }

  /** What storing an item of this size costs whoever pays for it. */
  async price(bytes: number): Promise<bigint> {
    return amountIn((await this.#call('GET', `/price/arweave/${bytes}`)).body, 'price');
  }

  async balance(address: string): Promise<bigint> {
    const { body } = await this.#call('GET', `/account/balance?address=${encodeURIComponent(address)}`);
    return amountIn(memberOf(body, 'winc'), 'balance');
  }

  /** How far an item is; undefined where the service does not have it. */
  async status(id: string): Promise<ItemStatus | undefined> {
    const { status, body } = await this.#call('GET', `/tx/${id}/status`);
    if (status !== 200) return undefined;
    return { status: textAt(body, 'status'), winc: amountIn(memberOf(body, 'winc'), 'price') };
  }

  /** `sent` is told of bytes as they go out, or as they turn out to be there. Answers whether it was there. */
  async upload(item: UploadItem, paidBy: readonly string[], sent: (bytes: number) => void): Promise<boolean> {
    if (isStored(await this.status(item.id))) {
      sent(item.size);
      return true;
    }
    const headers: Record<string, string> = paidBy.length === 0 ? {} : { 'x-paid-by': paidBy.join(',') };
    if (item.size <= 2 * partBytes) {
      await this.#call('POST', '/tx', { headers, item, start: 0, end: item.size });
      sent(item.size);
    } else {
      await this.#inParts(item, headers, sent);
    }
    return false;
  }

  async #inParts(
    item: UploadItem,
    headers: Record<string, string>,
    sent: (bytes: number) => void,
  ): Promise<void> {
    const created = await this.#call('GET', `/chunks/arweave/-1/-1?chunkSize=${partBytes}`, {
      headers: { 'idempotency-key': item.id },
    });
    const session = `/chunks/arweave/${textAt(created.body, 'id')}`;
    const there = partsThere((await this.#call('GET', `${session}/-1`)).body);
    const missing: number[] = [];
    for (let start = 0; start < item.size; start += partBytes) {
      const size = Math.min(partBytes, item.size - start);
      if (there.get(start) === size) sent(size);
      else missing.push(start);
    }
    await severalAtOnce(missing, partsAtOnce, async (start) => {
      const end = Math.min(start + partBytes, item.size);
      await this.#call('POST', `${session}/${start}`, { headers: {}, item, start, end });
      sent(end - start);
    });
    await this.#call('POST', `${session}/finalize`, { headers, paysFor: item.size });
    await this.#finalized(session, item.size);
  }

  async #finalized(session: string, bytes: number): Promise<void> {
    for (let asked = 1; ; asked++) {
      const status = textAt((await this.#call('GET', `${session}/status`)).body, 'status');
      if (status === 'FINALIZED') return;
      if (status === 'UNDERFUNDED') throw new NotEnoughCredits(bytes);
      if (status !== 'VALIDATING' && status !== 'ASSEMBLING')
        throw new UploadRefused(`the upload is ${status}`);
      await sleep(backoffMs(polls, asked));
    }
  }

  /** Tries again while trying again can help; a refusal is told in the service's words. */
  async #call(method: 'GET' | 'POST', path: string, send: Sending = {}): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      let failure: string;
      try {
        const answer = await this.#once(method, path, send);
        this.#answered = true;
        if (answer.status < 400 || answer.status === 404) return answer;
        failure = typeof answer.body === 'string' ? answer.body : `status ${answer.status}`;
        if (answer.status === 402) throw new NotEnoughCredits(send.paysFor ?? send.end ?? 0);
        if (answer.status < 500 && answer.status !== 429)
          throw new UploadRefused(`the upload was refused: ${failure}`);
      } catch (error) {
        if (error instanceof StartupError) throw error;
        // The item could not be read.
        if (error instanceof Error && error.cause instanceof StartupError) throw error.cause;
        failure = reasonOf(error);
        if (!this.#answered && failure === 'ECONNREFUSED')
          throw new StartupError(
            `no upload service answers at ${this.#service.url} (${failure}): is it started?`,
          );
        if (/CERT|SELF_SIGNED|ALTNAME/.test(failure))
          throw new StartupError(
            `the certificate of ${this.#service.url} is not trusted (${failure}): name its authority by NODE_EXTRA_CA_CERTS, or use its right address`,
          );
      }
      if (attempt === tries)
        throw new StartupError(
          `${this.#service.url} does not take the upload (${failure}): run this again later`,
        );
      await sleep(backoffMs(retries, attempt));
    }
  }

  async #once(
    method: 'GET' | 'POST',
    path: string,
    { headers = {}, item, start = 0, end = 0 }: Sending,
  ): Promise<Answer> {
    const { status, text } = await this.#service.ask(`/v1${path}`, {
      method,
      headers: { ...headers, ...(item !== undefined && { 'content-length': String(end - start) }) },
      ...(item !== undefined && { body: Readable.from(item.read(start, end)) }),
    });
    return { status, body: tryParseJson(text) ?? text };
  }
}

/** What failed is not there: it is sent again. */
export const isStored = (found: ItemStatus | undefined): boolean =>
  found !== undefined && found.status !== 'FAILED';

/** A number may come as text or as digits beyond what a double holds exactly. */
function amountIn(value: unknown, what: string): bigint {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== 'string' || !/^[0-9]{1,40}$/.test(text))
    throw new StartupError(`the upload service did not say the ${what}`);
  return BigInt(text);
}

function textAt(body: unknown, name: string): string {
  const value = memberOf(body, name);
  if (typeof value !== 'string') throw new StartupError(`the upload service did not say its ${name}`);
  return value;
}

function partsThere(body: unknown): Map<number, number> {
  const chunks = memberOf(body, 'chunks');
  return new Map(Array.isArray(chunks) ? chunks : []);
}
