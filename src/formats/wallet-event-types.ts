/** What a wallet can be told of, as event streams, webhooks and the console name it (docs/events.md). */
export const walletEventTypes = [
  'credits.paid',
  'credits.spent',
  'credits.refunded',
  'credits.taken',
  'credits.shared',
  'credits.low',
  'upload.receipt',
  'upload.bundled',
  'upload.permanent',
  'upload.failed',
  'name.bought',
  'name.changed',
  'name.failed',
  'name.lapsing',
  'name.lapsed',
] as const;
export type WalletEventType = (typeof walletEventTypes)[number];
