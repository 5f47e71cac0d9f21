/**
 * The cards and payment methods that stand for an outcome, with the numbers and names that Stripe publishes
 * for its test mode (https://docs.stripe.com/testing), so that what is tried here is tried the same there.
 */

import { createHash } from 'node:crypto';

export type Outcome =
  | { readonly kind: 'succeed' }
  | {
      readonly kind: 'decline';
      readonly code: string;
      readonly declineCode?: string;
      readonly message: string;
    }
  | { readonly kind: 'dispute'; readonly reason: string }
  | { readonly kind: 'refund-fails' };

export interface TestCard {
  readonly number: string;
  readonly brand: string;
  readonly outcome: Outcome;
  /** The ready-made payment methods that stand for this card. */
  readonly methods: readonly string[];
  /** What the checkout page says the card is for. */
  readonly label: string;
}

/** A decline has two names of its method: with the brand in the middle (current) and without (older). */
const declining = (
  number: string,
  label: string,
  suffix: string,
  outcome: { readonly code?: string; readonly message?: string; readonly declineCode?: string },
): TestCard => ({
  number,
  brand: 'visa',
  label: `Declined${label}`,
  outcome: { kind: 'decline', code: 'card_declined', message: 'Your card was declined.', ...outcome },
  methods: [`pm_card_visa_chargeDeclined${suffix}`, `pm_card_chargeDeclined${suffix}`],
});

const succeeding = (number: string, brand: string, label: string, method = brand): TestCard =>
  turning(number, brand, `${label}, succeeds`, { kind: 'succeed' }, method);

function turning(number: string, brand: string, label: string, outcome: Outcome, method: string): TestCard {
  return { number, brand, label, outcome, methods: [`pm_card_${method}`] };
}

export const testCards: readonly TestCard[] = [
  succeeding('4242424242424242', 'visa', 'Visa'),
  succeeding('4000056655665556', 'visa', 'Visa debit', 'visa_debit'),
  succeeding('5555555555554444', 'mastercard', 'Mastercard'),
  succeeding('378282246310005', 'amex', 'American Express'),
  succeeding('6011111111111117', 'discover', 'Discover'),
  succeeding('3566002020360505', 'jcb', 'JCB'),
  declining('4000000000000002', '', '', { declineCode: 'generic_decline' }),
  declining('4000000000009995', ': insufficient funds', 'InsufficientFunds', {
    message: 'Your card has insufficient funds.',
    declineCode: 'insufficient_funds',
  }),
  declining('4000000000009987', ': lost card', 'LostCard', { declineCode: 'lost_card' }),
  declining('4000000000009979', ': stolen card', 'StolenCard', { declineCode: 'stolen_card' }),
  declining('4000000000000069', ': expired card', 'ExpiredCard', {
    code: 'expired_card',
    message: 'Your card has expired.',
  }),
  declining('4000000000000127', ': wrong security code', 'IncorrectCvc', {
    code: 'incorrect_cvc',
    message: "Your card's security code is incorrect.",
  }),
  declining('4000000000000119', ': processing error', 'ProcessingError', {
    code: 'processing_error',
    message: 'An error occurred while processing your card. Try again in a little bit.',
  }),
  disputed('4000000000000259', 'fraud', 'fraudulent', ''),
  disputed('4000000000002685', 'not received', 'product_not_received', 'ProductNotReceived'),
  turning('4000000000005126', 'visa', 'Succeeds, refunds fail later', { kind: 'refund-fails' }, 'refundFail'),
];

function disputed(number: string, as: string, reason: string, suffix: string): TestCard {
  const label = `Succeeds, is disputed as ${as}`;
  return turning(number, 'visa', label, { kind: 'dispute', reason }, `createDispute${suffix}`);
}

const byNumber = new Map(testCards.map((entry) => [entry.number, entry]));
const byMethod = new Map(
  testCards.flatMap((entry) => entry.methods.map((method) => [method, entry] as const)),
);

/** The same for the same number, as the provider's fingerprints are. */
export const fingerprintOf = ({ number }: TestCard): string =>
  createHash('sha256').update(number).digest('base64url').replace(/[-_]/g, '').slice(0, 16);

const byFingerprint = new Map(testCards.map((entry) => [fingerprintOf(entry), entry]));
/** `tok_visa` stands for the card of `pm_card_visa`. */
const byToken = new Map(
  testCards.flatMap((entry) =>
    entry.methods.map((method) => [method.replace(/^pm_card_/, 'tok_'), entry] as const),
  ),
);

export const cardByFingerprint = (fingerprint: string): TestCard | undefined =>
  byFingerprint.get(fingerprint);
export const cardByToken = (token: string): TestCard | undefined => byToken.get(token);
export const cardByNumber = (number: string): TestCard | undefined => byNumber.get(number);
export const cardByMethod = (method: string): TestCard | undefined => byMethod.get(method);

/** The check digit rule of card numbers (ISO/IEC 7812-1 annex B). */
export function passesLuhn(number: string): boolean {
  let sum = 0;
  for (let i = 0; i < number.length; i += 1) {
    const digit = Number(number[number.length - 1 - i]);
    const doubled = i % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
