/**
 * Answers that were given before and would be the same again: small content from the cache, its head put together
 * once. A request for one is a look-up and a write; whatever is special about a request (a range, a condition, a
 * journey through gateways) goes the long way.
 */
import { LRUCache } from 'lru-cache';
import type { Reply, Request } from '../../../kernel/http/server.ts';
import type { Content } from '../content.ts';
import type { Described } from '../opened.ts';
import type { Headers } from './headers.ts';

export interface Ready {
  readonly id: string;
  /** The record it was made from: another one now means that something changed. */
  readonly described: Described;
  /** Names and values in turn, without the request's id. */
  readonly head: readonly string[];
  readonly bytes: Buffer;
}

const special = ['range', 'if-none-match', 'if-range', 'x-ar-io-hops', 'x-ar-io-via'] as const;

export class ReadyAnswers {
  readonly #content: Content;
  readonly #answers = new LRUCache<string, Ready>({ max: 20_000 });

  constructor(content: Content) {
    this.#content = content;
  }

  /** The id that `key` (a path, with what else decides) was answered with, if it can be answered so again. */
  find(request: Request, key: string): Ready | undefined {
    const ready = this.#answers.get(key);
    if (ready === undefined) return undefined;
    for (const name of special) if (request.headers[name] !== undefined) return undefined;
    if (this.#content.known(ready.id) === ready.described) return ready;
    this.#answers.delete(key);
    return undefined;
  }

  /** What may be served has changed: every answer is put together anew. */
  clear(): void {
    this.#answers.clear();
  }

  /** `more` are headers of this request alone. */
  send(request: Request, reply: Reply, ready: Ready, more?: Readonly<Record<string, string>>): Reply {
    reply.hijack();
    const head = ready.head.concat('x-request-id', request.id);
    if (more !== undefined) head.push(...Object.entries(more).flat());
    reply.raw.writeHead(200, head);
    reply.raw.end(request.method === 'HEAD' ? undefined : ready.bytes);
    return reply;
  }

  keep(key: string, reply: Reply, described: Described, headers: Headers, bytes: Buffer): void {
    const head: string[] = [];
    for (const set of [reply.getHeaders(), headers]) {
      for (const [name, value] of Object.entries(set)) {
        if (name === 'x-request-id' || value === undefined) continue;
        for (const one of Array.isArray(value) ? value : [value]) head.push(name, String(one));
      }
    }
    this.#answers.set(key, { id: described.id, described, head, bytes });
  }
}
