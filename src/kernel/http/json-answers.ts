/**
 * The JSON answers of a route that is asked often. Their heads differ in their length and in what is of one request
 * alone; all else is put together once (`prepared-head.ts`). `onSend` hooks are not asked.
 */
import type { Reply } from './app.ts';
import { PreparedHead } from './prepared-head.ts';

/** What the server sets on every answer. */
const ofTheServer = /^access-control-/;

export class JsonAnswers {
  readonly #fixed: readonly string[];
  #head: PreparedHead | undefined;

  /** `fixed`: names and values in turn. */
  constructor(fixed: readonly string[] = []) {
    this.#fixed = ['content-type', 'application/json; charset=utf-8', ...fixed];
  }

  /** With status 200. Text is sent as it stands. */
  send(reply: Reply, text: string): void {
    const set = reply.getHeaders();
    const more = ['content-length', String(Buffer.byteLength(text))];
    for (const name in set) if (!ofTheServer.test(name)) more.push(name, String(set[name]));
    this.#head ??= new PreparedHead(200, [...this.#fixed, ...pairsOf(set)]);
    reply.hijack();
    this.#head.write(reply.raw, more);
    reply.raw.end(text);
  }
}

function pairsOf(set: ReturnType<Reply['getHeaders']>): string[] {
  const names = Object.keys(set).filter((name) => ofTheServer.test(name));
  return names.flatMap((name) => [name, String(set[name])]);
}
