/** The newest requests as text, a line each, for whoever looks what a client does: `GET /logs`. */
import type { AnsweredRequest } from '../../kernel/http/server.ts';

interface Line {
  at: number;
  method: string;
  url: string;
  status: number;
  milliseconds: number;
}

const maxLines = 1_000;
const maxUrl = 300;
/** Asked again and again by everybody who follows the chain. */
const untold = new Set(['/info', '/logs', '/metrics']);

export class RequestLog {
  readonly #lines: Line[] = [];
  #oldest = 0;

  /** Hardly anybody reads them: they become text when somebody does, and the newest takes the place of the oldest. */
  note({ method, url, status, milliseconds }: AnsweredRequest): void {
    if (untold.has(url)) return;
    const at = Date.now();
    const shown = url.slice(0, maxUrl);
    const line = this.#lines[this.#oldest];
    if (line === undefined) this.#lines.push({ at, method, url: shown, status, milliseconds });
    else {
      line.at = at;
      line.method = method;
      line.url = shown;
      line.status = status;
      line.milliseconds = milliseconds;
    }
    this.#oldest = (this.#oldest + 1) % maxLines;
  }

  text(): string {
    return [...this.#lines.slice(this.#oldest), ...this.#lines.slice(0, this.#oldest)]
      .map(({ at, method, url, status, milliseconds }) => {
        return `${new Date(at).toISOString()} ${method} ${url} ${status} ${Math.round(milliseconds)} ms\n`;
      })
      .join('');
  }
}
