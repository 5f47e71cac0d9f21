import { boolean, integer, milliseconds, secret, text, url } from '../kinds.ts';

/** Card payments through Stripe, or through the local provider that speaks its API. */
export const card = {
  CARD_PAYMENTS_ENABLED: boolean({ meaning: 'Whether cards are taken', default: true }),
  STRIPE_SECRET_KEY: secret({
    meaning: 'Secret API key; without it the local card provider is started and used, in the world `local`',
  }),
  STRIPE_WEBHOOK_SECRET: secret({
    meaning:
      'Signing secret of the webhook endpoint `{payment_url}/v1/stripe-webhook`; needed with STRIPE_SECRET_KEY',
  }),
  STRIPE_API_URL: url({
    meaning: 'Where the card provider is, when it is not Stripe itself',
    default: undefined,
  }),
  ENABLE_AUTO_STRIPE_TAX: boolean({
    meaning: 'Let the provider add tax on checkout pages',
    default: false,
  }),
  TOP_UP_QUOTE_EXPIRATION_MS: integer({
    meaning: 'How long a card quote may be paid (at least 30 minutes, which the provider asks for)',
    default: 1_800_000,
    min: 1_800_000,
    max: 86_000_000,
  }),
  TOP_UP_QUOTE_GRACE_MS: integer({
    meaning: 'How much later a payment may still arrive and be credited; beyond it, it is refunded',
    default: 600_000,
    max: 86_400_000,
  }),
  MAX_ALLOWED_CHARGE_BACKS: integer({
    meaning: 'A wallet with more disputed payments than this is reported as suspicious',
    default: 1,
  }),
  STRIPE_RECONCILE_INTERVAL_MS: milliseconds({
    meaning: 'How often the provider is asked about open quotes and missed events',
    default: 60_000,
    min: 100,
  }),
  APP_URL: url({
    meaning: 'Where a payer goes after checkout unless the request names another address',
    default: undefined,
  }),
  CHECKOUT_PRODUCT_NAME: text({
    meaning: 'What the checkout page calls what is sold',
    default: 'Storage credits',
  }),
};
