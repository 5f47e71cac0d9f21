/**
 * The head of an answer that is given again and again, checked and written out once. `writeHead` looks at every name
 * and value of every answer and joins them from a hundred pieces, which for an answer with two dozen headers is a
 * quarter of what a bare server does for a request.
 *
 * Node has no call for this, so that the text goes where `writeHead` would leave its own. Where anything is not as it
 * is in the plain case (a connection that closes, a wrapped `writeHead`, another Node), `writeHead` is called.
 */
import { type ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http';

export class PreparedHead {
  readonly #status: number;
  readonly #pairs: readonly string[];
  readonly #text: string;

  /** Names and values in turn, the body's length among them; throws for what may not stand in a head. */
  constructor(status: number, pairs: readonly string[]) {
    this.#status = status;
    this.#pairs = pairs;
    // Through a buffer, so that it is one piece and not a hundred.
    this.#text = Buffer.from(
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${linesOf(pairs)}`,
      'latin1',
    ).toString('latin1');
  }

  /** `more` are names and values of this answer alone, which the caller knows to be clean. */
  write(raw: ServerResponse, more: readonly string[]): void {
    const seconds = keepAliveSeconds(raw);
    if (seconds === undefined) {
      raw.writeHead(this.#status, this.#pairs.concat(more));
      return;
    }
    let text = this.#text;
    for (let at = 0; at < more.length; at += 2) text += `${more[at]}: ${more[at + 1]}\r\n`;
    raw.statusCode = this.#status;
    Reflect.set(
      raw,
      '_header',
      `${text}Date: ${dateNow()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`,
    );
  }
}

function linesOf(pairs: readonly string[]): string {
  let lines = '';
  for (let at = 0; at < pairs.length; at += 2) {
    const [name = '', value = ''] = [pairs[at], pairs[at + 1]];
    validateHeaderName(name);
    validateHeaderValue(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** How long the connection is kept after this answer; undefined where the plain way is not to be taken. */
function keepAliveSeconds(raw: ServerResponse): number | undefined {
  const plain =
    raw.shouldKeepAlive &&
    raw.sendDate &&
    !Object.hasOwn(raw, 'writeHead') &&
    Reflect.get(raw, '_header') === null &&
    Reflect.get(raw, '_defaultKeepAlive') === true;
  if (!plain) return undefined;
  const milliseconds: unknown = Reflect.get(raw, '_keepAliveTimeout');
  return typeof milliseconds === 'number' && milliseconds >= 1_000
    ? Math.floor(milliseconds / 1_000)
    : undefined;
}

let date = '';
let dateUntil = 0;

/** As RFC 9110 §5.6.7 has it, made once a second. */
function dateNow(): string {
  const now = Date.now();
  if (now >= dateUntil || now < dateUntil - 1_000) {
    date = new Date(now).toUTCString();
    dateUntil = now - (now % 1_000) + 1_000;
  }
  return date;
}
