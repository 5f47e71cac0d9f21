/** Cards as payment methods: each of the provider's ready-made names stands for a test card and becomes a method when it is used. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { CardApiError, invalidRequest } from './errors.ts';
import type { PaymentMethod } from './objects.ts';
import { type Change, findObject, newId, putObject } from './store.ts';
import { cardByFingerprint, cardByMethod, cardByToken, fingerprintOf, type TestCard } from './test-cards.ts';

export interface MethodDetails {
  readonly email?: string | null;
  readonly name?: string | null;
  readonly phone?: string | null;
  readonly expiry?: { readonly month: number; readonly year: number };
  readonly metadata?: Record<string, string>;
}

export async function createMethod(
  change: Change,
  card: TestCard,
  details: MethodDetails = {},
): Promise<PaymentMethod> {
  const { email = null, name = null, phone = null, metadata = {} } = details;
  const expiry = details.expiry ?? { month: 12, year: new Date(change.now * 1000).getUTCFullYear() + 3 };
  const method: PaymentMethod = {
    id: newId.paymentMethod(),
    object: 'payment_method',
    billing_details: { address: null, email, name, phone },
    card: {
      brand: card.brand,
      country: 'US',
      display_brand: card.brand,
      exp_month: expiry.month,
      exp_year: expiry.year,
      fingerprint: fingerprintOf(card),
      funding: 'credit',
      last4: card.number.slice(-4),
    },
    created: change.now,
    customer: null,
    livemode: false,
    metadata,
    type: 'card',
  };
  await putObject(change, method);
  return method;
}

/** A method that is kept, or a new one where a ready-made name is given. */
export async function methodFor(change: Change, id: string): Promise<PaymentMethod> {
  const ready = cardByMethod(id);
  if (ready !== undefined) return createMethod(change, ready);
  const method = await findObject(change.tx, 'payment_method', id);
  if (method === undefined) throw noSuchMethod(id);
  return method;
}

/** For reading alone: nothing is made. */
export async function requireMethod(tx: SqlExecutor, id: string): Promise<PaymentMethod> {
  const method = await findObject(tx, 'payment_method', id);
  if (method === undefined) throw noSuchMethod(id);
  return method;
}

export function cardOf({ card }: PaymentMethod): TestCard {
  const found = cardByFingerprint(card.fingerprint);
  if (found === undefined) throw new Error(`no test card has the fingerprint ${card.fingerprint}`);
  return found;
}

export function cardForToken(token: string): TestCard {
  const card = cardByToken(token);
  if (card === undefined) throw invalidRequest(`No such token: '${token}'`, { param: 'card[token]' });
  return card;
}

const noSuchMethod = (id: string) =>
  new CardApiError(400, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such PaymentMethod: '${id}'`,
    param: 'payment_method',
  });
