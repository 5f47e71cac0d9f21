/** How many may follow events at once: in all, and from one client network. Each costs a connection for as long as it likes. */
import { HttpError } from '../../kernel/errors.ts';
import type { Request } from '../../kernel/http/app.ts';
import { clientAddress, networkOf, plainAddress } from '../../kernel/http/client-network.ts';

export interface ReaderLimitsOptions {
  readonly max: number;
  readonly maxPerNetwork: number;
  /** `TRUSTED_PROXY_COUNT`. */
  readonly proxies: number;
}

const retryAfter = 30;

export class ReaderLimits {
  readonly #options: ReaderLimitsOptions;
  readonly #byNetwork = new Map<string, number>();
  #count = 0;

  constructor(options: ReaderLimitsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  /** Throws the refusal, or answers what is called, once, when the reader is gone. */
  enter(request: Request): () => void {
    const { max, maxPerNetwork, proxies } = this.#options;
    if (this.#count >= max) throw new HttpError(503, 'Too many readers follow events', { retryAfter });
    const network = networkOf(plainAddress(clientAddress(request, proxies).slice(0, 64)));
    const others = this.#byNetwork.get(network) ?? 0;
    if (others >= maxPerNetwork) {
      throw new HttpError(429, 'Too many readers of your network follow events', { retryAfter });
    }
    this.#count += 1;
    this.#byNetwork.set(network, others + 1);
    return () => this.#leave(network);
  }

  #leave(network: string): void {
    this.#count -= 1;
    const left = (this.#byNetwork.get(network) ?? 1) - 1;
    if (left === 0) this.#byNetwork.delete(network);
    else this.#byNetwork.set(network, left);
  }
}
