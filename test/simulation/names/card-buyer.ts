/**
 * Somebody who buys names by card: for the own wallet, for one of another chain, and for one that somebody else has; signs
 * for it or does not; and later wants the money back, or disputes the payment.
 */
import { memberOf, textOf, tryParseJson } from '../../../src/formats/json.ts';
import { signedHeaders } from '../../support/request-signers.ts';
import type { Calm } from '../calm.ts';
import { Cardholder } from '../cardholder.ts';
import { skewed } from '../faults.ts';
import { hour, minute, Person, type PersonOptions } from '../person.ts';
import type { Life } from '../process.ts';
import { isUntrue, type Market, short } from './buyer.ts';

export interface CardPurchase {
  readonly nonce: string;
  readonly what: string;
  readonly address: string;
  /** Who signed the quote, and owes its price when the payment goes back. */
  readonly signer: string | undefined;
  told: 'PENDING' | 'CONFIRMED' | 'FAILED';
}

interface CardBuyerOptions extends PersonOptions {
  readonly market: Market;
  readonly urls: readonly string[];
  readonly calm: Calm;
  /** Wallets for which nobody signs. */
  readonly others: readonly string[];
}

const pauseMs = 14 * minute;

export class CardBuyer extends Person {
  readonly purchases = new Map<string, CardPurchase>();
  readonly #options: CardBuyerOptions;
  readonly #cardholder = new Cardholder(this);

  constructor(options: CardBuyerOptions) {
    super(options);
    this.#options = options;
  }

  readonly program = (life: Life): Promise<void> => this.live(life, pauseMs, () => this.#buy(life));

  async #buy(life: Life): Promise<void> {
    const { random } = this;
    const { others, calm, urls } = this.#options;
    const address = random.pick([this.wallet.address, ...others]);
    const wish = this.#wish();
    const isSigned = random.below(2) === 0;
    const uuid = random
      .bytes(16)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    const wasCalm = calm.isCalm;
    const answer = await this.ask(random.pick(urls), {
      path: `/v1/arns/quote/payment-intent/${address}/usd/${wish}`,
      ...(isSigned && { headers: await signedHeaders(this.wallet, uuid) }),
    });
    const text = answer?.body.toString() ?? '';
    if (answer !== undefined && wasCalm && calm.isCalm && isUntrue(answer.status, text))
      life.world.broken(`a quote for ${wish} is answered "${text}", and nothing is wrong`);
    if (answer?.status !== 200) return this.tell(`has no quote for ${wish}: ${answer?.status} ${text}`);
    const quoted = tryParseJson(text);
    const nonce = textOf(memberOf(quoted, 'purchaseQuote'), 'nonce') ?? '';
    const what = `${wish} for ${short(address)} (${short(nonce)})`;
    const signer = isSigned ? this.wallet.address : undefined;
    const purchase: CardPurchase = { nonce, what, address, signer, told: 'PENDING' };
    this.purchases.set(nonce, purchase);
    this.tell(`has a quote for ${what}`);
    void this.#cardholder.pay(life, textOf(memberOf(quoted, 'paymentSession'), 'id') ?? '');
    void this.#follow(life, purchase);
  }

  /** A new name, one that others want too, or more of one that somebody has. */
  #wish(): string {
    const { random } = this;
    const { market } = this.#options;
    const known = market.names.length === 0 ? undefined : random.pick(market.names);
    const kind = random.below(8);
    if (known !== undefined && kind === 0) return `extend-lease/${known.name}?years=1`;
    if (known !== undefined && kind === 1) return `upgrade-name/${known.name}`;
    if (known !== undefined && kind < 4)
      return `increase-undername-limit/${known.name}?increaseQty=${random.between(1, 3)}`;
    market.count += 1;
    const wanted = random.below(4) === 0 ? Math.max(1, market.count - random.below(4)) : market.count;
    const own = known !== undefined && kind === 4 ? `&processId=${known.antId}` : '';
    const type = random.below(3) === 0 ? 'type=permabuy' : `type=lease&years=${random.between(1, 3)}`;
    return `buy-name/name-${wanted}?${type}${own}`;
  }

  /** How it goes; what was said to be over stays so. */
  async #follow(life: Life, purchase: CardPurchase): Promise<void> {
    const { random } = this;
    for (let looks = 0; looks < 12; looks += 1) {
      await life.wait(skewed(random, minute, hour));
      const answer = await this.ask(random.pick(this.#options.urls), {
        path: `/v1/arns/purchase/${purchase.nonce}`,
      });
      if (answer === undefined || answer.status >= 500) continue;
      const status = textOf(tryParseJson(answer.body.toString()), 'status');
      if (status !== 'PENDING' && status !== 'CONFIRMED' && status !== 'FAILED')
        return life.world.broken(`${purchase.what} is answered ${answer.status} ${answer.body}`);
      if (purchase.told !== 'PENDING' && purchase.told !== status)
        return life.world.broken(`${purchase.what} was ${purchase.told}, and now is ${status}`);
      if (purchase.told !== status) this.tell(`${purchase.what} is ${status}`);
      purchase.told = status;
    }
  }
}
