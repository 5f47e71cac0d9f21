/**
 * Answers of a route that are texts, and whose heads differ in nothing but the length: the rest of the head is put
 * together once, and head and text leave in one write. A text takes no memory outside of the heap, as a buffer would.
 */
import type { Reply } from './app.ts';
import { PreparedHead } from './prepared-head.ts';
import { takeOver } from './send-bytes.ts';

type Headers = Readonly<Record<string, unknown>>;

const requestId = 'x-request-id';

export class TextAnswers {
  readonly #headers: Readonly<Record<string, string>>;
  /** What was set on the first reply, but for the request's id, and the head with it. */
  #usual: { readonly set: Headers; readonly head: PreparedHead } | undefined;

  /** Without the length. */
  constructor(headers: Readonly<Record<string, string>>) {
    this.#headers = headers;
  }

  /** As 200, with the headers that are set on the reply. */
  send(reply: Reply, text: string): void {
    const length = Buffer.byteLength(text);
    const { [requestId]: id, ...set } = reply.getHeaders();
    this.#usual ??= this.#prepare(set);
    const { head, set: usual } = this.#usual;
    if (typeof id === 'string' && isSame(set, usual)) {
      reply.hijack();
      head.write(reply.raw, ['content-length', String(length), requestId, id]);
    } else takeOver(reply, 200, { ...this.#headers, 'content-length': length });
    // Of ASCII both are the same, and the one is a mere copy.
    reply.raw.end(text, length === text.length ? 'latin1' : 'utf8');
  }

  #prepare(set: Headers) {
    const headers = Object.entries({ ...set, ...this.#headers });
    return {
      set,
      head: new PreparedHead(
        200,
        headers.flatMap(([name, value]) => [name, String(value)]),
      ),
    };
  }
}

function isSame(headers: Headers, others: Headers): boolean {
  for (const name in others) if (!(name in headers)) return false;
  for (const name in headers) if (headers[name] !== others[name]) return false;
  return true;
}
