/** What the commands ask of an Arweave node. */
import type { Config } from '../config/config.ts';
import { StartupError } from '../kernel/errors.ts';
import { urlHost } from '../kernel/http/server.ts';
import { HttpClient } from '../outside/http.ts';

const maxAnswerBytes = 64 * 1024 * 1024;

export class NodeClient {
  readonly url: string;
  readonly #http = new HttpClient({ timeoutMs: 60_000, maxBytes: maxAnswerBytes });

  constructor(config: Config) {
    this.url =
      config.ARWEAVE_NODE_URLS[0] ??
      `http://${urlHost(config.LOCAL_NETWORK_HOST)}:${config.LOCAL_ARWEAVE_PORT}`;
  }

  get(path: string): Promise<string> {
    return this.#call(path);
  }

  post(path: string, body: unknown): Promise<string> {
    return this.#call(path, JSON.stringify(body));
  }

  async #call(path: string, body?: string): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    const answer = await this.#http
      .call(`${this.url}${path}`, { headers, ...(body !== undefined && { body }) })
      .catch((error: Error) => {
        throw new StartupError(
          `no Arweave node answers at ${this.url} (${codeOf(error.cause) ?? error.message}): is it started?`,
        );
      });
    const text = answer.body.toString();
    // 208 (known already) and 303 (chunk taken into the pool) are successes of the node's protocol.
    if (answer.status >= 400) {
      throw new StartupError(`${this.url}${path} answered ${answer.status}: ${text.slice(0, 500)}`);
    }
    return text;
  }
}

function codeOf(cause: unknown): string | undefined {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
}
