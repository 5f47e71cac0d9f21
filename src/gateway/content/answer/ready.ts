/**
 * Answers that were given before and would be the same again: content from the cache, its head put together once. A
 * request for one is a look-up and a write; whatever is special about a request (a condition, several ranges, a
 * journey through gateways) goes the long way.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { asksForServiceWorker, opensPage, type WebOrigin } from '../../../delivery/isolation.ts';
import { atMost } from '../../../kernel/at-most.ts';
import { contentRange, parseRange } from '../../../kernel/http/byte-ranges.ts';
import { PreparedHead } from '../../../kernel/http/prepared-head.ts';
import { endNow } from '../../../kernel/http/send-bytes.ts';
import type { Reply, Request } from '../../../kernel/http/server.ts';
import type { Content } from '../content.ts';
import type { Described } from '../opened.ts';
import { wholeHeaders } from './body.ts';
import { contentTypeOf, digestHeader, type Headers } from './headers.ts';
import { hasRangeForm } from './request.ts';

/** What is known of every answer about some content that was found under one key. */
export interface Ready {
  readonly id: string;
  /** The record it was made from: another one now means that something changed. */
  readonly described: Described;
  /** Of an answer with all of it, and with a part; without what is the request's own. */
  readonly wholeHead: PreparedHead;
  readonly partHead: PreparedHead;
  /** Small content: the bytes that the cache has in memory, not a copy. */
  readonly bytes: Buffer | undefined;
}

/** What is read of a request, whether or not the framework has seen it. */
export type PlainRequest = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** One answer, at hand. */
export interface ReadyAnswer {
  readonly head: PreparedHead;
  /** Names and values that the head does not have, but for the request's id. */
  readonly more: readonly string[];
  /** undefined for HEAD. */
  readonly body: Buffer | undefined;
}

/** A request that a ready answer was given to: the next one like it needs no route. */
export interface Asked {
  /** What a URL means depends on the host it is asked at. */
  readonly host: string | undefined;
  readonly origin: WebOrigin;
  /** The id in the URL: of the content, or of the manifest that leads to it. */
  readonly id: string;
  readonly key: string;
  readonly timings: Request['timings'];
}

const none: readonly string[] = [];
/** Invented paths that lead to the same page must not fill our memory. */
const maxUrlLength = 300;
const special = ['if-none-match', 'if-range', 'x-ar-io-hops', 'x-ar-io-via'] as const;
const budget = 12 * 1024 * 1024;
/** Of a head, about. */
const headBytes = 4_096;
/** For more there are no answers. */
const maxAsked = budget / headBytes;
const partBudget = 4 * 1024 * 1024;
/** A longer one is no range that is asked for again and again. */
const maxRangeLength = 64;

/** A part of content: what its head says of it, and its bytes. */
interface Part {
  readonly head: readonly string[];
  readonly bytes: Buffer;
}

export class ReadyAnswers {
  readonly #content: Content;
  readonly #answers = new LRUCache<string, Ready>({
    maxSize: budget,
    // Strangers choose the paths: a long one counts for what it takes.
    sizeCalculation: ({ bytes }, key) => headBytes + 2 * key.length + (bytes?.length ?? 0),
  });

  /** By the hash of the content and the range. */
  readonly #parts = new LRUCache<string, Part>({
    maxSize: partBudget,
    sizeCalculation: ({ bytes }, key) => bytes.length + key.length + 512,
  });
  /** By URL. */
  readonly #asked = new LRUCache<string, Asked>(atMost(maxAsked));

  constructor(content: Content) {
    this.#content = content;
  }

  /** What such a request was answered with before; undefined where only its route can say. */
  asked({ method, url, headers }: PlainRequest): Asked | undefined {
    if (url === undefined || (method !== 'GET' && method !== 'HEAD')) return undefined;
    const asked = this.#asked.get(url);
    if (asked === undefined || asked.host !== headers.host || asksForServiceWorker(headers)) return undefined;
    const isPage = asked.origin === 'shared-without-pages' && opensPage(headers, asked.host ?? '');
    return isPage ? undefined : asked;
  }

  /** Its route answered a request with what was found under the key. */
  note({ url, headers, timings }: Request, origin: WebOrigin, id: string, key: string): void {
    if (url.length > maxUrlLength || asksForServiceWorker(headers)) return;
    this.#asked.set(url, { host: headers.host, origin, id, key, timings });
  }

  /** What `key` (a path, with what else decides) was answered with, if it can be answered so again. */
  find(request: PlainRequest, key: string): Ready | undefined {
    const ready = this.#answers.get(key);
    if (ready === undefined) return undefined;
    for (const name of special) if (request.headers[name] !== undefined) return undefined;
    if (this.#content.known(ready.id) === ready.described) return ready;
    this.#answers.delete(key);
    return undefined;
  }

  /** The answer to the request; undefined where it goes the long way. */
  answer(request: PlainRequest, ready: Ready): ReadyAnswer | undefined {
    const { range } = request.headers;
    if (range !== undefined) return this.#part(request, ready, range);
    if (ready.bytes === undefined) return undefined;
    const body = request.method === 'HEAD' ? undefined : ready.bytes;
    return { head: ready.wholeHead, more: none, body };
  }

  #part(request: PlainRequest, ready: Ready, range: string): ReadyAnswer | undefined {
    const { hash } = ready.described;
    if (hash === undefined || range.length > maxRangeLength) return undefined;
    const key = `${hash}${range}`;
    let part = this.#parts.get(key);
    if (part === undefined) {
      part = this.#makePart(ready, hash, range);
      if (part === undefined) return undefined;
      this.#parts.set(key, part);
    }
    const body = request.method === 'HEAD' ? undefined : part.bytes;
    return { head: ready.partHead, more: part.head, body };
  }

  #makePart({ described, bytes }: Ready, hash: string, range: string): Part | undefined {
    const { size } = described;
    const asked = parseRange(range, size);
    if (!hasRangeForm(range) || asked.kind !== 'ranges' || asked.spans.length > 1) return undefined;
    const [span] = asked.spans;
    const { blocks } = this.#content.cached;
    const part =
      bytes?.subarray(span.start, span.end) ?? (blocks.takes(span) ? blocks.find(hash, span) : undefined);
    if (part === undefined) return undefined;
    const head = ['content-range', contentRange(span, size), 'content-length', String(part.length)];
    // A copy: it must not keep all that it is a part of.
    return { head, bytes: Buffer.from(part) };
  }

  /** `charged` are headers that say what the answer cost. */
  send(
    response: ServerResponse,
    { head, more, body }: ReadyAnswer,
    requestId: string,
    charged?: Readonly<Record<string, string>>,
  ): void {
    const own = [...more, 'x-request-id', requestId];
    if (charged !== undefined) own.push(...Object.entries(charged).flat());
    head.write(response, own);
    endNow(response, body);
  }

  /** `bytes`: all of it, where it is small. */
  keep(key: string, reply: Reply, described: Described, headers: Headers, bytes: Buffer | undefined): void {
    const common = [...pairsOf(reply.getHeaders()), ...pairsOf(headers)];
    const { hash } = described;
    this.#answers.set(key, {
      id: described.id,
      described,
      wholeHead: new PreparedHead(200, [...common, ...pairsOf(wholeHeaders(described))]),
      partHead: new PreparedHead(206, [
        ...common,
        'content-type',
        contentTypeOf(described),
        ...(hash === undefined ? [] : ['repr-digest', digestHeader(hash)]),
      ]),
      bytes,
    });
  }

  /** What may be served has changed: every answer is put together anew. */
  clear(): void {
    this.#asked.clear();
    this.#parts.clear();
    this.#answers.clear();
  }
}

function pairsOf(headers: Readonly<Record<string, string | number | string[] | undefined>>): string[] {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'x-request-id' || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) pairs.push(name, String(one));
  }
  return pairs;
}
