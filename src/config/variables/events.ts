import { boolean, integer, milliseconds } from '../kinds.ts';

/** What others can follow: event streams and webhooks of the gateway and of the payment server. */
export const events = {
  EVENTS_RETENTION_HOURS: integer({
    meaning: 'Hours that events are kept for readers that come back',
    default: 72,
    min: 1,
    max: 8_760,
  }),
  EVENTS_MAX_ROWS: integer({
    meaning: 'Rows of the log of events that are kept at most; a row may hold a batch of items',
    default: 2_000_000,
    min: 1_000,
  }),
  EVENTS_POLL_MS: milliseconds({
    meaning:
      'How often a process looks for what others wrote: events, and of a gateway blocks and bundles to be read',
    default: 1_000,
    min: 100,
    max: 10_000,
  }),
  EVENTS_MAX_READERS: integer({
    meaning: 'Event streams and subscriptions that a process serves at once; more are answered 503',
    default: 20_000,
    min: 1,
    max: 1_000_000,
  }),
  EVENTS_MAX_READERS_PER_NETWORK: integer({
    meaning: 'The same for one client network (an IPv4 address, an IPv6 /64); more are answered 429',
    default: 200,
    min: 1,
    max: 1_000_000,
  }),
  WEBHOOK_ALLOW_PRIVATE: boolean({
    meaning: 'Whether webhooks may go to private addresses and over plain http',
    default: false,
    inWorlds: { local: true },
  }),
  WEBHOOK_MAX_HOOKS: integer({
    meaning: 'Webhooks that there may be, of all wallets and the operator together, on each server',
    default: 1_000,
    max: 100_000,
  }),
  WEBHOOK_MAX_PER_WALLET: integer({
    meaning: 'Webhooks that a wallet may have',
    default: 10,
    max: 1_000,
  }),
  WEBHOOK_TIMEOUT_MS: milliseconds({
    meaning: 'Milliseconds within which a receiver must have answered',
    default: 10_000,
    min: 100,
    max: 20_000,
  }),
  WEBHOOK_GIVE_UP_HOURS: integer({
    meaning: 'Hours after which a message that is not taken becomes a dead letter',
    default: 24,
    min: 1,
    max: 720,
  }),
  WEBHOOK_END_DAYS: integer({
    meaning: 'Days after which a webhook that takes nothing ends; its owner can resume it',
    default: 7,
    min: 1,
    max: 365,
  }),
  WEBHOOK_MAX_DEAD_LETTERS: integer({
    meaning: 'Dead letters that are kept of one webhook; the oldest go first',
    default: 100,
    min: 1,
    max: 10_000,
  }),
  WEBHOOK_DEAD_LETTER_DAYS: integer({
    meaning: 'Days that a dead letter is kept',
    default: 30,
    min: 1,
    max: 365,
  }),
};
