/**
 * How much of the chains' endpoints strangers may use. Anybody may report anything, and an id that no chain knows costs
 * calls and a wait: each client network has its share of both, so that one that floods is told to stop and the others
 * are served. What is stored, or found at the first look, takes no place.
 */
import { networkOf, plainAddress } from '../../kernel/http/client-network.ts';
import { SharedRate } from '../../kernel/http/shared-rate.ts';
import { ChainPaymentRefused, TooManyLookUps } from './errors.ts';

/** Ids that are waited for, of one network and in all. */
const PLACES_PER_NETWORK = 8;
const PLACES = 64;
/** Looks at a chain under way for ids that are not stored, in all. */
const MAX_LOOK_UPS = 256;
const MINUTE_MS = 60_000;

export class LookUpLimits {
  readonly #rate: SharedRate;
  /** Places taken, by network. */
  readonly #places = new Map<string, number>();
  #taken = 0;
  #lookUps = 0;

  /** `perMinute`: ids that are not found, of one network. */
  constructor(perMinute: number, now?: () => number) {
    this.#rate = new SharedRate({ name: 'unknown payments', limit: perMinute, windowMs: MINUTE_MS, now });
  }

  /** Counts an id that is about to be looked for. Throws `ChainPaymentRefused` when the client's network has used its share. */
  async count(client: string): Promise<void> {
    const { allowed, resetSeconds } = await this.#rate.take(client);
    if (!allowed) throw tooManyUnknown(resetSeconds);
  }

  /** The same for one that may be left alone instead: false when the share is used. */
  async takeShare(client: string): Promise<boolean> {
    return (await this.#rate.take(client)).allowed;
  }

  /** It was found: it counts for nothing. */
  giveBack(client: string): void {
    this.#rate.giveBack(client);
  }

  /** One look. Throws `TooManyLookUps` when too many are under way. */
  async look<T>(work: () => Promise<T>): Promise<T> {
    if (this.#lookUps >= MAX_LOOK_UPS) throw new TooManyLookUps();
    this.#lookUps += 1;
    try {
      return await work();
    } finally {
      this.#lookUps -= 1;
    }
  }

  /** A place to wait in for an id that was not found yet; answers how it is left. */
  takePlace(client: string): () => void {
    const network = networkOf(plainAddress(client));
    const taken = this.#places.get(network) ?? 0;
    if (taken >= PLACES_PER_NETWORK) throw tooManyUnknown(1);
    if (this.#taken >= PLACES) throw new TooManyLookUps();
    this.#places.set(network, taken + 1);
    this.#taken += 1;
    return () => {
      const left = (this.#places.get(network) ?? 1) - 1;
      if (left > 0) this.#places.set(network, left);
      else this.#places.delete(network);
      this.#taken -= 1;
    };
  }
}

const tooManyUnknown = (retryAfter: number) =>
  new ChainPaymentRefused({ kind: 'too-many-unknown', retryAfter });
