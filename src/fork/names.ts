/** Names as the forked gateway resolves them, `GET /ar-io/resolver/{name}`. */
import { tryParseJson } from '../formats/json.ts';
import type { ForkCache } from './cache.ts';
import type { ForkUpstream } from './upstream.ts';

export class ForkedNames {
  readonly #gateway: ForkUpstream;
  readonly #cache: ForkCache;

  constructor(gateway: ForkUpstream, cache: ForkCache) {
    this.#gateway = gateway;
    this.#cache = cache;
  }

  /** What the gateway says of it; undefined where it knows no such name, or no names at all. */
  async resolve(label: string): Promise<unknown> {
    return await this.#cache.latest(this.#gateway.address, `name ${label}`, async () => {
      const { status, body } = await this.#gateway.call(`/ar-io/resolver/${encodeURIComponent(label)}`, {
        headers: { 'x-ar-io-hops': '1' },
        maxBytes: 64 * 1024,
      });
      return this.#gateway.isFound(status) ? tryParseJson(body.toString('utf8')) : undefined;
    });
  }
}
