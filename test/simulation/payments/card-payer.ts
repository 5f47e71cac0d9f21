/** Somebody who buys credits by card, for the own wallet or another's, and later wants the money back, or gets it. */
import { memberOf, textOf, tryParseJson } from '../../../src/formats/json.ts';
import type { Life } from '../process.ts';
import { cardKeys, cardUrl } from './installation.ts';
import { hour, minute, Person, type PersonOptions, second } from './person.ts';

export interface CardPayment {
  readonly intentId: string;
  readonly quoteId: string;
  readonly address: string;
  /** What was promised for it. */
  readonly winc: bigint;
}

const pauseMs = 12 * minute;

export class CardPayer extends Person {
  /** Those that were begun, by what the provider calls them. */
  readonly payments = new Map<string, CardPayment>();
  /** Wallets that others have, to which this one pays too. */
  readonly #others: readonly string[];
  #count = 0;

  constructor(options: PersonOptions & { readonly others: readonly string[] }) {
    super(options);
    this.#others = options.others;
  }

  readonly program = (life: Life): Promise<void> => this.live(life, pauseMs, () => this.#buy(life));

  async #buy(life: Life): Promise<void> {
    const { random } = this;
    const address = random.below(3) === 0 ? random.pick(this.#others) : this.wallet.address;
    const amount = random.between(5, 40) * 100;
    const path = `/v1/top-up/payment-intent/${address}/usd/${amount}?token=solana`;
    const answer = await this.ask(this.payment(), { path });
    if (answer === undefined || answer.status !== 200) return;
    const made = tryParseJson(answer.body.toString());
    const intentId = textOf(memberOf(made, 'paymentSession'), 'id') ?? '';
    const quote = memberOf(made, 'topUpQuote');
    const winc = BigInt(textOf(quote, 'winstonCreditAmount') ?? '0');
    this.payments.set(intentId, { intentId, quoteId: textOf(quote, 'topUpQuoteId') ?? '', address, winc });
    void this.#pay(life, intentId);
  }

  async #pay(life: Life, intentId: string): Promise<void> {
    const { random } = this;
    const when = random.below(10);
    if (when === 0) return;
    await life.wait(when === 1 ? hour * random.fraction() * 2 : minute * random.fraction());
    const kind = random.below(10);
    const method =
      kind < 6 ? 'pm_card_visa' : kind < 9 ? 'pm_card_createDispute' : 'pm_card_visa_chargeDeclined';
    const paid = await this.#provider(life, `/v1/payment_intents/${intentId}/confirm`, {
      payment_method: method,
    });
    if (paid?.status !== 200) return;
    this.tell(`paid ${intentId} with ${method}`);
    await life.wait(skewedWait(random.fraction()));
    if (method === 'pm_card_createDispute') await this.#endDispute(life, intentId);
    else if (random.below(3) === 0) await this.#refund(life, intentId);
  }

  async #refund(life: Life, intentId: string): Promise<void> {
    const amount = this.random.below(2) === 0 ? undefined : this.random.between(1, 400);
    const given = await this.#provider(life, '/v1/refunds', {
      payment_intent: intentId,
      ...(amount !== undefined && { amount: String(amount) }),
    });
    if (given?.status === 200)
      this.tell(`got ${amount === undefined ? 'all' : `${amount} cents`} of ${intentId} back`);
  }

  async #endDispute(life: Life, intentId: string): Promise<void> {
    const listed = await this.insist(life, () => cardUrl, {
      path: `/v1/disputes?payment_intent=${intentId}`,
      headers: { authorization: `Bearer ${cardKeys.secretKey}` },
    });
    const disputes = memberOf(tryParseJson(listed?.body.toString() ?? ''), 'data');
    const [dispute]: unknown[] = Array.isArray(disputes) ? disputes : [];
    const id = textOf(dispute, 'id');
    if (id === undefined || this.random.below(3) === 0) return;
    const won = this.random.below(2) === 0;
    await this.#provider(life, `/v1/disputes/${id}`, {
      'evidence[uncategorized_text]': won ? 'winning_evidence' : 'losing_evidence',
    });
    this.tell(`the dispute of ${intentId} is ${won ? 'won' : 'lost'} by the service`);
  }

  /** A change at the provider, made once however often it is asked for. */
  #provider(life: Life, path: string, form: Record<string, string>) {
    this.#count += 1;
    return this.insist(life, () => cardUrl, {
      path,
      method: 'POST',
      headers: {
        authorization: `Bearer ${cardKeys.secretKey}`,
        'content-type': 'application/x-www-form-urlencoded',
        'idempotency-key': `${this.process.name}-${this.#count}`,
      },
      body: new URLSearchParams(form).toString(),
    });
  }
}

const skewedWait = (fraction: number): number => 10 * second + 20 * hour * fraction ** 4;
