/**
 * Somebody who buys credits by card, for the own wallet, for another's, or as a gift for whoever has an email address; and
 * later wants the money back, or gets it.
 */
import { memberOf, textOf, tryParseJson } from '../../../src/formats/json.ts';
import { Cardholder } from '../cardholder.ts';
import { skewed } from '../faults.ts';
import { hour, minute } from '../person.ts';
import type { Life } from '../process.ts';
import type { Said } from '../restorer.ts';
import { Customer, type CustomerOptions } from './customer.ts';
import { returnPayment } from './return-request.ts';

export interface CardPayment extends Said {
  readonly intentId: string;
  readonly quoteId: string;
  readonly address: string;
  /** What was promised for it. */
  readonly winc: bigint;
}

const pauseMs = 12 * minute;

export class CardPayer extends Customer {
  /** Those that were begun, by what the provider calls them. */
  readonly payments = new Map<string, CardPayment>();
  /** Wallets that others have, to which this one pays too. */
  readonly #others: readonly string[];
  readonly #cardholder = new Cardholder(this);

  constructor(options: CustomerOptions & { readonly others: readonly string[] }) {
    super(options);
    this.#others = options.others;
  }

  readonly program = (life: Life): Promise<void> =>
    this.live(life, pauseMs, async () => {
      if (!this.forgets && this.random.below(6) === 0)
        return returnPayment(life, this, (payment) => textOf(payment, 'kind') === 'card');
      await this.#buy(life);
    });

  async #buy(life: Life): Promise<void> {
    const { random } = this;
    const isGift = random.below(5) === 0;
    const wallet = random.below(3) === 0 ? random.pick(this.#others) : this.wallet.address;
    const address = isGift ? `${this.process.name}@people.test` : wallet;
    const amount = random.between(5, 40) * 100;
    const kind = isGift ? 'destinationAddressType=email' : 'token=solana';
    const path = `/v1/top-up/payment-intent/${address}/usd/${amount}?${kind}`;
    const answer = await this.ask(this.payment(), { path });
    if (answer === undefined || answer.status !== 200) return;
    const made = tryParseJson(answer.body.toString());
    const intentId = textOf(memberOf(made, 'paymentSession'), 'id') ?? '';
    const quote = memberOf(made, 'topUpQuote');
    const winc = BigInt(textOf(quote, 'winstonCreditAmount') ?? '0');
    const quoteId = textOf(quote, 'topUpQuoteId') ?? '';
    this.payments.set(intentId, {
      intentId,
      quoteId,
      address,
      winc,
      askedAt: answer.askedAt,
      at: life.world.time,
    });
    void this.#cardholder.pay(life, intentId);
    if (isGift) void this.#redeem(life, quoteId, address);
  }

  /** Whoever the gift is for fetches it, maybe never; asks twice at times, for one wallet and another. */
  async #redeem(life: Life, quoteId: string, email: string): Promise<void> {
    const { random } = this;
    if (random.below(4) === 0) return;
    let redeemedBy: string | undefined;
    for (let tries = 0; tries < 6; tries += 1) {
      await life.wait(skewed(random, minute, 3 * hour));
      const wallet = random.pick(this.#others);
      const answer = await this.ask(this.payment(), {
        path: `/v1/redeem?id=${quoteId}&email=${email}&destinationAddress=${wallet}&token=solana`,
      });
      if (answer?.status !== 200) continue;
      if (redeemedBy !== undefined && !this.forgets)
        return life.world.broken(`the gift ${quoteId} went to ${redeemedBy}, and to ${wallet}`);
      redeemedBy = wallet;
      this.tell(`the gift ${quoteId} is redeemed`);
    }
  }
}
