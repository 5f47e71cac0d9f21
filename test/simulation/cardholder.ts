/** Whoever has a card: pays at once, late or never, wants the money back later, disputes a payment, and wins or loses that. */
import { memberOf, textOf, tryParseJson } from '../../src/formats/json.ts';
import { cardKeys, cardUrl } from './cards.ts';
import { hour, minute, type Person, second } from './person.ts';
import type { Life } from './process.ts';

export class Cardholder {
  readonly #person: Person;
  #count = 0;

  constructor(person: Person) {
    this.#person = person;
  }

  /** From the payment to whatever becomes of it; resolves when nothing more is done about it. */
  async pay(life: Life, intentId: string): Promise<void> {
    const { random } = this.#person;
    const when = random.below(10);
    if (when === 0) return;
    await life.wait(when === 1 ? hour * random.fraction() * 2 : minute * random.fraction());
    const kind = random.below(10);
    const method =
      kind < 6 ? 'pm_card_visa' : kind < 9 ? 'pm_card_createDispute' : 'pm_card_visa_chargeDeclined';
    const paid = await this.#change(life, `/v1/payment_intents/${intentId}/confirm`, {
      payment_method: method,
    });
    if (paid?.status !== 200) return;
    this.#person.tell(`paid ${intentId} with ${method}`);
    await life.wait(10 * second + 20 * hour * random.fraction() ** 4);
    if (method === 'pm_card_createDispute') await this.#endDispute(life, intentId);
    else if (random.below(3) === 0) await this.#refund(life, intentId);
  }

  async #refund(life: Life, intentId: string): Promise<void> {
    const { random } = this.#person;
    const amount = random.below(2) === 0 ? undefined : random.between(1, 400);
    const given = await this.#change(life, '/v1/refunds', {
      payment_intent: intentId,
      ...(amount !== undefined && { amount: String(amount) }),
    });
    if (given?.status === 200)
      this.#person.tell(`got ${amount === undefined ? 'all' : `${amount} cents`} of ${intentId} back`);
  }

  async #endDispute(life: Life, intentId: string): Promise<void> {
    const { random } = this.#person;
    const listed = await this.#person.insist(life, () => cardUrl, {
      path: `/v1/disputes?payment_intent=${intentId}`,
      headers: { authorization: `Bearer ${cardKeys.secretKey}` },
    });
    const disputes = memberOf(tryParseJson(listed?.body.toString() ?? ''), 'data');
    const [dispute]: unknown[] = Array.isArray(disputes) ? disputes : [];
    const id = textOf(dispute, 'id');
    if (id === undefined || random.below(3) === 0) return;
    const won = random.below(2) === 0;
    await this.#change(life, `/v1/disputes/${id}`, {
      'evidence[uncategorized_text]': won ? 'winning_evidence' : 'losing_evidence',
    });
    this.#person.tell(`the dispute of ${intentId} is ${won ? 'won' : 'lost'} by the service`);
  }

  /** A change at the provider, made once however often it is asked for. */
  #change(life: Life, path: string, form: Record<string, string>) {
    this.#count += 1;
    return this.#person.insist(life, () => cardUrl, {
      path,
      method: 'POST',
      headers: {
        authorization: `Bearer ${cardKeys.secretKey}`,
        'content-type': 'application/x-www-form-urlencoded',
        'idempotency-key': `${this.#person.process.name}-${this.#count}`,
      },
      body: new URLSearchParams(form).toString(),
    });
  }
}
