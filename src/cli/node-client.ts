/** What the commands ask of an Arweave node. */
import { request } from 'undici';
import type { Config } from '../config/config.ts';
import { StartupError } from '../kernel/errors.ts';

export class NodeClient {
  readonly url: string;

  constructor(config: Config) {
    this.url = config.ARWEAVE_NODE_URLS[0] ?? `http://127.0.0.1:${config.LOCAL_ARWEAVE_PORT}`;
  }

  get(path: string): Promise<string> {
    return this.#call('GET', path);
  }

  post(path: string, body: unknown): Promise<string> {
    return this.#call('POST', path, JSON.stringify(body));
  }

  async #call(method: 'GET' | 'POST', path: string, body: string | null = null): Promise<string> {
    const answer = await request(`${this.url}${path}`, {
      method,
      body,
      headers: { 'content-type': 'application/json' },
      headersTimeout: 30_000,
      bodyTimeout: 30_000,
    }).catch((error: Error & { code?: string }) => {
      throw new StartupError(
        `no Arweave node answers at ${this.url} (${error.code ?? error.message}): is it started?`,
      );
    });
    const text = await answer.body.text();
    // 208 (known already) and 303 (chunk taken into the pool) are successes of the node's protocol.
    if (answer.statusCode >= 400) {
      throw new StartupError(`${this.url}${path} answered ${answer.statusCode}: ${text.slice(0, 500)}`);
    }
    return text;
  }
}
