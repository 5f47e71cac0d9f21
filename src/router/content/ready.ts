/**
 * Answers that were given before and would be the same again: small content by id, its head put together once. A
 * request for one is a look-up and a write. What may change is asked every time: whether it is blocked, and
 * whether the bytes are still kept as they were. Whatever is special about a request goes the long way.
 */
import { LRUCache } from 'lru-cache';
import { asksForServiceWorker, opensPage, type WebOrigin } from '../../delivery/isolation.ts';
import type { TxId } from '../../formats/base64url.ts';
import { atMost } from '../../kernel/at-most.ts';
import { sendNow } from '../../kernel/http/send-bytes.ts';
import type { Reply, Request } from '../../kernel/http/server.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Content } from './content.ts';
import { type AccessPath, cacheAge, describe } from './headers.ts';
import { fromCache } from './opened.ts';
import type { Placements } from './placements.ts';
import type { ProvenContent } from './proven-store.ts';
import type { Refusals } from './refusals.ts';

export interface ReadyParts {
  readonly content: Content;
  readonly placements: Placements;
  readonly telemetry: Telemetry | undefined;
  readonly stallTimeoutMs: number;
  readonly onHit: () => void;
  readonly refusals: Refusals;
}

interface Ready {
  /** What a URL means depends on the host it is asked at. */
  readonly host: string | undefined;
  readonly origin: WebOrigin;
  readonly id: TxId;
  readonly manifestId: TxId | undefined;
  /** What the answer was made from: anything else now means that something changed. */
  readonly proven: ProvenContent;
  /** Whether it says where it lies in its bundle: those who ask by `HEAD` want to know. */
  readonly placed: boolean;
  /** Names and values in turn, without those that are new each time. */
  readonly head: readonly string[];
}

const maxAnswers = 20_000;
/** Invented paths that lead to the same page must not fill our memory. */
const maxUrlLength = 300;
const changing = new Set(['x-router-cache-age']);

export class ReadyAnswers {
  readonly #parts: ReadyParts;
  readonly #answers = new LRUCache<string, Ready>(atMost(maxAnswers));

  constructor(parts: ReadyParts) {
    this.#parts = parts;
  }

  /** Answers at once where it can, and says whether it did. Throws where the content is blocked. */
  send(request: Request, reply: Reply): boolean {
    const { url, headers } = request;
    const ready = this.#answers.get(url);
    if (ready === undefined || ready.host !== headers.host || isSpecial(request)) return false;
    if (request.method === 'HEAD' && !ready.placed) return false;
    if (ready.origin === 'shared-without-pages' && opensPage(headers, ready.host ?? '')) return false;
    const { content, telemetry, stallTimeoutMs, onHit } = this.#parts;
    if (!this.#isAllowed(ready)) return false;
    const inMemory = content.inMemory(ready.id);
    if (inMemory?.proven !== ready.proven) {
      this.#answers.delete(url);
      return false;
    }
    onHit();
    const start = performance.now();
    const head = ready.head.concat('x-router-cache-age', cacheAge(ready.proven.verifiedAt));
    const bytes = request.method === 'HEAD' ? undefined : inMemory.bytes;
    const sent = sendNow(reply, 200, head, bytes, { stallTimeoutMs });
    telemetry?.cacheHit(sent, performance.now() - start);
    return true;
  }

  /** False where that cannot be said at once; throws where it is blocked. */
  #isAllowed({ id, manifestId, proven }: Ready): boolean {
    const { refusals } = this.#parts;
    const { list } = refusals;
    if (list.isEmpty) return true;
    // Whether the manifest is blocked by its hash, the long way tells.
    if (manifestId !== undefined && list.wantsHashes) return false;
    if (manifestId !== undefined) refusals.id(manifestId);
    refusals.id(id);
    refusals.digest(proven.digest);
    if (!list.hasPlaces) return true;
    const region = refusals.knownRegion(id);
    if (region === undefined) return false;
    refusals.parts(id, region, undefined);
    return true;
  }

  /** Notes an answer that was given from the cache in full. */
  keep(request: Request, accessPath: AccessPath): void {
    const { id, manifestId, name, origin } = accessPath;
    const { host } = request.headers;
    const { url } = request;
    if (name !== undefined || url.length > maxUrlLength || url.includes('?') || isSpecial(request)) return;
    const inMemory = this.#parts.content.inMemory(id);
    if (inMemory === undefined) return;
    const placement = this.#parts.placements.at(id);
    const opened = { ...fromCache(inMemory.proven), ...(placement === undefined ? {} : { placement }) };
    const headers = describe(opened, accessPath);
    headers['content-length'] = String(inMemory.bytes.length);
    const head = Object.entries(headers).flatMap(([field, value]) =>
      changing.has(field) ? [] : [field, value],
    );
    const placed = placement !== undefined;
    this.#answers.set(url, { host, origin, id, manifestId, proven: inMemory.proven, placed, head });
  }
}

function isSpecial({ headers }: Request): boolean {
  return (
    headers.range !== undefined ||
    headers['if-none-match'] !== undefined ||
    headers['if-range'] !== undefined ||
    asksForServiceWorker(headers)
  );
}
