/**
 * The cards and payment methods that stand for an outcome, with the numbers and names that Stripe publishes
 * for its test mode (https://docs.stripe.com/testing), so that what is tried here is tried the same there.
 */

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

const succeed: Outcome = { kind: 'succeed' };

const decline = (code: string, message: string, declineCode?: string): Outcome =>
  declineCode === undefined
    ? { kind: 'decline', code, message }
    : { kind: 'decline', code, message, declineCode };

const declined = (declineCode: string, message = 'Your card was declined.') =>
  decline('card_declined', message, declineCode);

/** The names of a declining method: with the brand in the middle (current) and without (older). */
const refusing = (suffix: string) => [`pm_card_visa_${suffix}`, `pm_card_${suffix}`];

export const testCards: readonly TestCard[] = [
  card('4242424242424242', 'visa', 'Visa, succeeds', succeed, ['pm_card_visa']),
  card('4000056655665556', 'visa', 'Visa debit, succeeds', succeed, ['pm_card_visa_debit']),
  card('5555555555554444', 'mastercard', 'Mastercard, succeeds', succeed, ['pm_card_mastercard']),
  card('378282246310005', 'amex', 'American Express, succeeds', succeed, ['pm_card_amex']),
  card('6011111111111117', 'discover', 'Discover, succeeds', succeed, ['pm_card_discover']),
  card('3566002020360505', 'jcb', 'JCB, succeeds', succeed, ['pm_card_jcb']),
  card('4000000000000002', 'visa', 'Declined', declined('generic_decline'), refusing('chargeDeclined')),
  card(
    '4000000000009995',
    'visa',
    'Declined: insufficient funds',
    declined('insufficient_funds', 'Your card has insufficient funds.'),
    refusing('chargeDeclinedInsufficientFunds'),
  ),
  card(
    '4000000000009987',
    'visa',
    'Declined: lost card',
    declined('lost_card'),
    refusing('chargeDeclinedLostCard'),
  ),
  card(
    '4000000000009979',
    'visa',
    'Declined: stolen card',
    declined('stolen_card'),
    refusing('chargeDeclinedStolenCard'),
  ),
  card(
    '4000000000000069',
    'visa',
    'Declined: expired card',
    decline('expired_card', 'Your card has expired.'),
    refusing('chargeDeclinedExpiredCard'),
  ),
  card(
    '4000000000000127',
    'visa',
    'Declined: wrong security code',
    decline('incorrect_cvc', "Your card's security code is incorrect."),
    refusing('chargeDeclinedIncorrectCvc'),
  ),
  card(
    '4000000000000119',
    'visa',
    'Declined: processing error',
    decline('processing_error', 'An error occurred while processing your card. Try again in a little bit.'),
    refusing('chargeDeclinedProcessingError'),
  ),
  card(
    '4000000000000259',
    'visa',
    'Succeeds, is disputed as fraud',
    { kind: 'dispute', reason: 'fraudulent' },
    ['pm_card_createDispute'],
  ),
  card(
    '4000000000002685',
    'visa',
    'Succeeds, is disputed as not received',
    { kind: 'dispute', reason: 'product_not_received' },
    ['pm_card_createDisputeProductNotReceived'],
  ),
  card('4000000000005126', 'visa', 'Succeeds, refunds fail later', { kind: 'refund-fails' }, [
    'pm_card_refundFail',
  ]),
];

function card(
  number: string,
  brand: string,
  label: string,
  outcome: Outcome,
  methods: readonly string[],
): TestCard {
  return { number, brand, label, outcome, methods };
}

const byNumber = new Map(testCards.map((entry) => [entry.number, entry]));
const byMethod = new Map(
  testCards.flatMap((entry) => entry.methods.map((method) => [method, entry] as const)),
);

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
