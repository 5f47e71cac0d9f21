/** What the commands ask of an Arweave node. */
import type { Config } from '../config/config.ts';
import { StartupError } from '../kernel/errors.ts';
import { type ServiceAnswer, ServiceClient } from './service-client.ts';
import { serviceUrl } from './service-url.ts';

export class NodeClient {
  readonly #service: ServiceClient;

  constructor(config: Config) {
    const local = serviceUrl(config, 'arweave');
    this.#service = new ServiceClient('Arweave node', config.ARWEAVE_NODE_URLS[0] ?? local, 60_000);
  }

  get url(): string {
    return this.#service.url;
  }

  async get(path: string): Promise<string> {
    return this.#accepted(path, await this.#service.call(path));
  }

  async post(path: string, body: object): Promise<string> {
    return this.#accepted(path, await this.#service.call(path, {}, body));
  }

  /** 208 (known already) and 303 (chunk taken into the pool) are successes of the node's protocol. */
  #accepted(path: string, { status, text }: ServiceAnswer): string {
    if (status < 400) return text;
    throw new StartupError(`${this.url}${path} answered ${status}: ${text.slice(0, 500)}`);
  }
}
