/** Somebody who reads what a wallet shows to the service, and tries to act with it. */

import { signedHeaders } from '../../support/request-signers.ts';
import { minute, type Person } from '../person.ts';
import type { Life } from '../process.ts';
import { Customer, type CustomerOptions } from './customer.ts';

const pauseMs = 20 * minute;

export class Thief extends Customer {
  readonly #victim;

  constructor(options: CustomerOptions & { readonly victim: Person }) {
    super(options);
    this.#victim = options.victim;
  }

  readonly program = (life: Life): Promise<void> => this.live(life, pauseMs, () => this.#steal());

  async #steal(): Promise<void> {
    const { random } = this;
    const { address } = this.#victim.wallet;
    const nonce = this.random.bytes(16).toString('hex');
    const uuid = nonce.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    const headers = await signedHeaders(this.#victim.wallet, uuid);
    const path = random.pick([
      '/v1/price/bytes/1000',
      '/v1/price/usd/1000',
      `/v1/account/balance?address=${address}`,
      '/v1/balance',
      `/v1/top-up/payment-intent/${address}/usd/1000?token=solana`,
      '/v1/account/payments',
    ]);
    const shown = await this.ask(this.payment(), { path, headers });
    // What did not arrive, or was not dealt with, was not shown.
    if (shown === undefined || shown.status >= 500 || shown.status === 429) return;
    const answer = await this.ask(this.payment(), {
      path: '/v1/account/notice',
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ winc: '1' }),
    });
    if (answer !== undefined && answer.status < 300)
      this.world.broken(`a signature that was shown at ${path} acts for ${address}`);
    else this.tell(`could not act with what was shown at ${path}: ${answer?.status}`);
  }
}
