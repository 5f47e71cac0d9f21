/**
 * Content from gateways, proven on the way. Small content is proven before its first byte leaves, so that a
 * gateway that sends wrong bytes costs a reader nothing but time; large content flows while it is checked.
 */

import { createHash, hash } from 'node:crypto';
import { Download, type DownloadAttempt } from '../../delivery/download.ts';
import { withMinimumSpeed } from '../../delivery/minimum-speed.ts';
import { slice } from '../../delivery/streams.ts';
import type { TxId } from '../../formats/base64url.ts';
import type { Logger } from '../../kernel/log.ts';
import { lengthIn, partIn } from '../../outside/answer-head.ts';
import { contentNotFound, verificationFailed } from '../errors.ts';
import { type AnswerBody, readPieces } from '../gateways/answer-body.ts';
import { discard, type Gateway, type GatewayAnswer } from '../gateways/gateway.ts';
import type { GatewaySet } from '../gateways/gateway-set.ts';
import type { HedgedAsks, HedgedOptions } from '../gateways/hedged-ask.ts';
import { unprovenOf } from './arrival.ts';
import type { ContentCache } from './content-cache.ts';
import { type Expectation, ExpectationSearch, provenExpectation } from './expectation.ts';
import type { Opened } from './opened.ts';
import type { Placements } from './placements.ts';
import type { ProvenContent, ProvenStore } from './proven-store.ts';
import { type Sent, Suspects } from './suspects.ts';

export interface FetchOptions {
  readonly gateways: GatewaySet;
  readonly asks: HedgedAsks;
  readonly proven: ProvenStore;
  readonly cache: ContentCache;
  readonly placements: Placements;
  readonly quorum: number;
  readonly attempts: number;
  readonly log: Logger;
  readonly verified: (gateway: string, method: string, ok: boolean) => void;
}

/** Content up to this size is proven whole before it is sent. */
export const wholeLimit = 256 * 1024;
/** A gateway that does not say how much it sends may send this much. */
const maxUnsizedBytes = 64 * 1024 ** 3;
/** Bytes that a download runs ahead of a reader that is alone: as with any proxy, that reader sets the pace. */
const maxLead = 256 * 1024;

export class Fetch {
  readonly #options: FetchOptions;
  readonly #suspects = new Suspects();

  constructor(options: FetchOptions) {
    this.#options = options;
  }

  /** What the bytes of an id must be, as far as others can tell. */
  search(id: TxId): ExpectationSearch {
    const { gateways, quorum } = this.#options;
    return new ExpectationSearch(id, gateways.verification, gateways.routing, quorum);
  }

  /** `proven`: what was proven of it before. */
  async open(id: TxId, proven: ProvenContent | undefined): Promise<Opened> {
    const conclusive = proven !== undefined && provenExpectation(proven).conclusive;
    const search = conclusive ? undefined : this.search(id);
    let last = this.#suspects.about(id);
    const tried = new Set(last);
    const attempts = this.#options.attempts + last.length;
    let wrong = last.length > 0;
    for (;;) {
      const bounds = { tried, attempts, again: tried.size > last.length, gone: () => false };
      const answer = await this.#ask(id, bounds, 0, (first) =>
        proven === undefined ? search?.begin(first) : undefined,
      ).catch((error: unknown) => {
        if (last.length === 0) {
          throw wrong ? verificationFailed(id, 'Every gateway that has it sent other bytes', error) : error;
        }
      });
      if (answer === undefined) {
        for (const gateway of last) tried.delete(gateway);
        last = [];
        continue;
      }
      const expectation = proven === undefined ? await search?.settle(answer) : provenExpectation(proven);
      if (expectation === undefined) {
        discard(answer);
        throw unprovenOf(id, answer);
      }
      const opened = await this.#take(id, answer, expectation, search, tried);
      if (opened !== undefined) {
        this.#options.placements.note(id, answer);
        return opened;
      }
      wrong = true;
    }
  }

  #ask(
    id: TxId,
    bounds: Pick<HedgedOptions, 'tried' | 'attempts' | 'again' | 'gone'>,
    start: number,
    first?: (gateway: Gateway) => void,
  ): Promise<GatewayAnswer> {
    const headers = start === 0 ? {} : { headers: { range: `bytes=${start}-` } };
    return this.#options.asks.ask(
      { role: 'content', judged: true, path: `/raw/${id}`, ...headers },
      {
        ...bounds,
        accepts: ({ status }) => status === 200 || (start > 0 && status === 206),
        absent: (state) => contentNotFound(id, state),
        ...(first === undefined ? {} : { first }),
      },
    );
  }

  /** The content from this answer; undefined when it is wrong or broke off and another gateway is to be asked. */
  async #take(
    id: TxId,
    answer: GatewayAnswer,
    expectation: Expectation,
    search: ExpectationSearch | undefined,
    tried: Set<Gateway>,
  ): Promise<Opened | undefined> {
    const told = lengthIn(answer.headers);
    if (told !== undefined && expectation.size !== undefined && told !== expectation.size) {
      this.#wrong(answer, expectation, id, { digest: undefined, size: told, promised: true });
      discard(answer);
      return undefined;
    }
    const size = told ?? expectation.size;
    if (size !== undefined && size <= wholeLimit) {
      return await this.#takeWhole(id, answer, expectation, search, size);
    }
    return this.#takeStream(id, answer, expectation, tried, size);
  }

  async #takeWhole(
    id: TxId,
    answer: GatewayAnswer,
    first: Expectation,
    search: ExpectationSearch | undefined,
    size: number,
  ): Promise<Opened | undefined> {
    const { gateway } = answer;
    const start = performance.now();
    const whole = await collect(answer, size).catch((error: unknown) => {
      answer.judge(gateway.failed('content', error).outcome);
    });
    if (whole === undefined) return undefined;
    const { pieces, digest } = whole;
    const passes = async (expectation: Expectation): Promise<boolean> => {
      const check = expectation.check();
      for (const piece of pieces) check.update(piece);
      return await check.finish(digest, size);
    };
    let expectation = first;
    if (!(await passes(first))) {
      // One gateway's word against another's: only the signature can tell who is wrong.
      const decisive = first.conclusive ? undefined : await search?.bySignature();
      if (decisive === undefined || !(await passes(decisive))) {
        this.#wrong(answer, first, id, { digest, size, promised: true });
        return undefined;
      }
      expectation = decisive;
    }
    answer.judge('success');
    this.#options.verified(gateway.origin, expectation.method, true);
    const proven = provenContent(expectation, digest, size);
    this.#proven(id, proven);
    this.#options.cache.keep(digest, size, pieces);
    const verificationMs = answer.latencyMs + performance.now() - start;
    return { ...proven, verificationMs, from: gateway.origin, pieces };
  }

  #takeStream(
    id: TxId,
    first: GatewayAnswer,
    expectation: Expectation,
    tried: Set<Gateway>,
    size: number | undefined,
  ): Opened {
    const { cache, verified } = this.#options;
    let answer = first;
    let stopped = false;
    const served = new Map([[first.gateway, first]]);
    const abort = (): void => {
      stopped = true;
      answer.body.destroy();
    };
    const attempt: DownloadAttempt = {
      check: expectation.check(),
      body: withMinimumSpeed(first.body),
      resume: async (start, cause) => {
        if (stopped) throw cause;
        answer.judge(answer.gateway.failed('content', cause).outcome);
        const attempts = this.#options.attempts + tried.size;
        const next = await this.#ask(id, { tried, attempts, again: true, gone: () => stopped }, start);
        if (!continuesAt(next, start, size)) {
          discard(next);
          throw cause;
        }
        answer = next;
        served.set(next.gateway, next);
        const rest = withMinimumSpeed(next.body);
        return next.status === 200 ? slice(rest, start, Number.POSITIVE_INFINITY) : rest;
      },
    };
    const download = new Download({
      cache: cache.diskFor(size),
      size,
      maxSize: maxUnsizedBytes,
      first: attempt,
      maxLead,
      // What is less than half there is not worth finishing for nobody.
      lingerMs: (arrived, isKept) =>
        isKept && size !== undefined && arrived * 2 > size ? Number.POSITIVE_INFINITY : 0,
      abort,
      cacheFailed: (error) => cache.failed(error),
      done: (result) => {
        if (result.kind === 'wrong') {
          // Bytes of several gateways in a row: it cannot be said whose were wrong.
          const conclusive = expectation.conclusive && served.size === 1;
          const digest = served.size === 1 ? result.digest : undefined;
          const sent = {
            digest,
            size: digest === undefined ? undefined : result.size,
            promised: size !== undefined,
          };
          for (const one of served.values()) this.#wrong(one, { ...expectation, conclusive }, id, sent);
        } else if (result.kind === 'proven') {
          verified(answer.gateway.origin, expectation.method, true);
          this.#proven(id, provenContent(expectation, result.digest, result.size));
        }
        // What was given up because nobody reads it is no fault of the gateway's.
        answer.judge('success');
        if (result.kind !== 'proven') abort();
      },
    });
    const { contentEncoding, digest, method, by } = expectation;
    const proof = { digest, method, by, verifiedAt: undefined };
    return {
      ...proof,
      size,
      contentType: typeOf(expectation),
      contentEncoding,
      from: first.gateway.origin,
      download,
    };
  }

  /** Who sent other bytes for the id before was wrong, where these are the right ones for certain. */
  #proven(id: TxId, proven: ProvenContent): void {
    this.#options.proven.set(id, proven);
    const liars = this.#suspects.settle(id, proven);
    if (!provenExpectation(proven).conclusive) return;
    for (const { health } of liars) health.quarantine('wrong-bytes', `wrong bytes for ${id}`);
  }

  /** A gateway that certainly sent wrong bytes is not asked again; one that may have is asked last for this id. */
  #wrong({ gateway, judge }: GatewayAnswer, expectation: Expectation, id: TxId, sent: Sent): void {
    const { verified, log } = this.#options;
    judge(expectation.conclusive ? 'wrong' : 'unproven');
    verified(gateway.origin, expectation.method, false);
    log.warn(
      { gateway: gateway.origin, id, method: expectation.method },
      'a gateway sent other bytes than the id has',
    );
    if (expectation.conclusive) gateway.health.quarantine('wrong-bytes', `wrong bytes for ${id}`);
    else {
      gateway.health.suspect(`doubtful bytes for ${id}`);
      this.#suspects.add(id, gateway, sent);
    }
  }
}

function provenContent(expectation: Expectation, digest: string, size: number): ProvenContent {
  const { contentEncoding, method, by } = expectation;
  const contentType = typeOf(expectation);
  return { digest, size, contentType, contentEncoding, method, by, verifiedAt: Date.now() };
}

/** Never what the serving gateway says: it could make a page of a text. */
export function typeOf({ contentType }: Pick<Expectation, 'contentType'>): string {
  const clean = (contentType ?? '').replace(/[^\x20-\x7e\xa0-\xff]/g, '').trim();
  return clean === '' ? 'application/octet-stream' : clean.slice(0, 255);
}

/** Whether an answer is the rest of the same content from `start`, or the whole of it. */
function continuesAt(answer: GatewayAnswer, start: number, size: number | undefined): boolean {
  if (answer.status === 200) return size === undefined || lengthIn(answer.headers) === size;
  const part = partIn(answer.headers);
  return part?.start === start && (size === undefined || part.size === size);
}

/** All of a body that has so many bytes, and their hash. */
export async function collect(
  { body }: { readonly body: Pick<AnswerBody, 'take' | 'destroy'> },
  size: number,
  slowAfterMs?: number,
): Promise<{ pieces: Buffer[]; digest: string }> {
  const pieces = await readPieces(body, size, slowAfterMs);
  if (pieces.reduce((sum, { length }) => sum + length, 0) < size) throw new Error('the body ended early');
  return { pieces, digest: sha256Of(pieces) };
}

function sha256Of(pieces: readonly Buffer[]): string {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return hash('sha256', only, 'hex');
  const whole = createHash('sha256');
  for (const piece of pieces) whole.update(piece);
  return whole.digest('hex');
}
