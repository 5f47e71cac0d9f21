/** The newest requests as text, a line each, for whoever looks what a client does: `GET /logs`. */
import type { App } from '../../../kernel/http/server.ts';

const maxLines = 1_000;
const maxUrl = 300;
/** Asked again and again by everybody who follows the chain. */
const untold = new Set(['/info', '/logs', '/metrics']);

export class RequestLog {
  #lines: string[] = [];

  /** Writes down every request that the scope answers. */
  watch(app: App): void {
    app.addHook('onResponse', (request, reply, done) => {
      if (!untold.has(request.url)) {
        const took = Math.round(reply.elapsedTime);
        const at = new Date().toISOString();
        this.#lines.push(
          `${at} ${request.method} ${request.url.slice(0, maxUrl)} ${reply.statusCode} ${took} ms`,
        );
        if (this.#lines.length >= 2 * maxLines) this.#lines = this.#lines.slice(-maxLines);
      }
      done();
    });
  }

  text(): string {
    return this.#lines
      .slice(-maxLines)
      .map((line) => `${line}\n`)
      .join('');
  }
}
