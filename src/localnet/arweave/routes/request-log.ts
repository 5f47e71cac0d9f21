/** The newest requests as text, a line each, for whoever looks what a client does: `GET /logs`. */
import type { AnsweredRequest } from '../../../kernel/http/server.ts';

interface Line extends AnsweredRequest {
  readonly at: number;
}

const maxLines = 1_000;
const maxUrl = 300;
/** Asked again and again by everybody who follows the chain. */
const untold = new Set(['/info', '/logs', '/metrics']);

export class RequestLog {
  #lines: Line[] = [];

  /** Hardly anybody reads them: they become text when somebody does. */
  note({ method, url, status, milliseconds }: AnsweredRequest): void {
    if (untold.has(url)) return;
    this.#lines.push({ at: Date.now(), method, url: url.slice(0, maxUrl), status, milliseconds });
    if (this.#lines.length >= 2 * maxLines) this.#lines = this.#lines.slice(-maxLines);
  }

  text(): string {
    return this.#lines
      .slice(-maxLines)
      .map(({ at, method, url, status, milliseconds }) => {
        return `${new Date(at).toISOString()} ${method} ${url} ${status} ${Math.round(milliseconds)} ms\n`;
      })
      .join('');
  }
}
