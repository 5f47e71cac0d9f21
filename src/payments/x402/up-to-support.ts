/** On which networks the facilitator takes payments up to an amount, and at which address, as it says itself. */
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { FacilitatorClient } from './facilitator-client.ts';

/** An address that a facilitator no longer uses is noticed within this time. */
const goodForMs = 10 * 60_000;
/** A facilitator that did not answer is asked again after this time. */
const retryMs = 10_000;

export class UpToSupport {
  readonly #facilitator: Pick<FacilitatorClient, 'upToAddresses'>;
  readonly #log: Logger;
  readonly #now: () => number;
  #known: { readonly until: number; readonly addresses: Promise<ReadonlyMap<string, string>> } | undefined;

  constructor(facilitator: Pick<FacilitatorClient, 'upToAddresses'>, log: Logger, now: () => number) {
    this.#facilitator = facilitator;
    this.#log = log;
    this.#now = now;
  }

  /** Addresses by CAIP-2 name; none where the facilitator takes no such payments, or does not answer. */
  facilitators(): Promise<ReadonlyMap<string, string>> {
    if (this.#known !== undefined && this.#known.until > this.#now()) return this.#known.addresses;
    const addresses = this.#facilitator.upToAddresses().catch((error: unknown) => {
      this.#log.warn({ err: messageOf(error) }, 'the x402 facilitator does not say what it supports');
      this.#known = { until: this.#now() + retryMs, addresses: Promise.resolve(new Map()) };
      return new Map<string, string>();
    });
    this.#known = { until: this.#now() + goodForMs, addresses };
    return addresses;
  }
}
