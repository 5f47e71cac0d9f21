/** `CardPayments` put together on a database, a provider and the handlers of each purpose. */
import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type {
  CardObservation,
  CardOrder,
  CardPayments,
  CardQuote,
  CardSession,
  PurchaseHandlers,
} from './card.ts';
import { storeEvent } from './inbox.ts';
import { ledgerIdOf } from './ledger-id.ts';
import {
  CardProvider,
  ledgerIdKey,
  type ProviderConfig,
  quoteIdKey,
  sessionEnd,
  watchedEvents,
} from './provider.ts';
import { insertQuote, lockQuote, type QuoteRow, readQuote, untouched, updateQuote } from './quotes.ts';
import { failQuote, type SyncContext } from './sync.ts';
import { unknownCardPayments } from './unknown-payments.ts';
import { CardWorker } from './worker.ts';

export type CardConfig = ProviderConfig &
  Pick<
    Config,
    | 'TOP_UP_QUOTE_EXPIRATION_MS'
    | 'TOP_UP_QUOTE_GRACE_MS'
    | 'MAX_ALLOWED_CHARGE_BACKS'
    | 'STRIPE_RECONCILE_INTERVAL_MS'
  >;

export interface CardDeps {
  /** The `ledger` database, with `cardMigrations`. */
  readonly sql: Sql;
  readonly pricing: Pick<Pricing, 'promoUses'>;
  readonly log: Logger;
  /** See `SyncContext`. */
  readonly returnFailedIn?: SyncContext['returnFailedIn'];
  observe?(observation: CardObservation): void;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** Webhooks come within seconds; a quote is asked about when none came for so long. */
const firstQuestionMs = 60_000;
const metadataLimits = { keys: 48, keyLength: 40, valueLength: 500 };

export function createCardPayments(config: CardConfig, deps: CardDeps): CardPayments {
  const { sql, log, now = Date.now } = deps;
  const { promoUses } = deps.pricing;
  const provider = new CardProvider(config);
  const purposes = new Map<string, PurchaseHandlers>();
  const observe = (observation: CardObservation) => {
    logObservation(log, observation);
    deps.observe?.(observation);
    if (observation.kind === 'paid') purposes.get(observation.quote.purpose)?.paid?.(observation.quote);
  };
  const sync: SyncContext = {
    sql,
    promoUses,
    maxChargebacks: config.MAX_ALLOWED_CHARGE_BACKS,
    now,
    ...(deps.returnFailedIn && { returnFailedIn: deps.returnFailedIn }),
    handlersOf(purpose) {
      const handlers = purposes.get(purpose);
      if (handlers === undefined) throw new Error(`nobody takes card payments for ${purpose}`);
      return handlers;
    },
  };
  const intervalMs = config.STRIPE_RECONCILE_INTERVAL_MS;
  const ledgerId = () => ledgerIdOf(sql);
  const worker = new CardWorker({ ...sync, provider, log, observe, intervalMs, ledgerId });

  async function open(
    purpose: string,
    order: CardOrder,
  ): Promise<{ quote: CardQuote; session: CardSession }> {
    const row = newQuote(purpose, order, config, now());
    await sql.transaction(async (tx) => {
      await insertQuote(tx, {
        row,
        adjustments: JSON.stringify([...order.adjustments, ...order.fees], writeBigint),
        referer: order.referer ?? null,
        dueAt: now() + firstQuestionMs,
      });
      await promoUses.holdIn(tx, {
        quoteId: row.id,
        address: row.address,
        expiresAt: row.payableUntil,
        adjustments: order.adjustments,
      });
    });
    try {
      const session = await makeSession(order, row);
      const quoted: QuoteRow = { ...row, state: 'quoted', ...idsOf(order, session) };
      await sql.transaction(async (tx) => {
        const stored = await lockQuote(tx, row.id);
        if (stored?.state === 'opening') await updateQuote(tx, quoted, now());
      });
      return { quote: quoted, session };
    } catch (error) {
      observe({ kind: 'session-error' });
      // Should this fail too, the quote is given up later as abandoned.
      await failQuote(sync, row.id, 'session_error').catch(() => {});
      throw error;
    }
  }

  async function makeSession(order: CardOrder, row: QuoteRow): Promise<CardSession> {
    const metadata = bounded({
      [quoteIdKey]: row.id,
      [ledgerIdKey]: await ledgerId(),
      purpose: row.purpose,
      ...order.metadata?.(row),
    });
    const page = typeof order.page === 'function' ? order.page(row) : order.page;
    return order.method === 'payment-intent'
      ? provider.createIntent(row, metadata)
      : provider.createSession(row, page, order.description, metadata);
  }

  return {
    forPurpose(purpose, handlers) {
      if (purposes.has(purpose)) throw new Error(`card payments for ${purpose} are taken already`);
      purposes.set(purpose, handlers);
      return {
        open: (order) => open(purpose, order),
        async quote(id) {
          const found = await readQuote(sql, id);
          return found?.purpose === purpose ? found : undefined;
        },
      };
    },
    quote: (id) => readQuote(sql, id),
    async refundReturn(quoteId, returnId, amount) {
      const quote = await readQuote(sql, quoteId);
      if (quote?.intentId === undefined) return { state: 'failed', reason: 'no_payment' };
      const refund = await provider.refundReturn(quote.intentId, returnId, amount);
      if (typeof refund === 'string') return { state: 'failed', reason: refund };
      const { state, id: reference } = refund;
      return state === 'failed' ? { state, reason: 'returned' } : { state, reference };
    },
    refundNow: () => worker.refundNow(),
    async receive(body, signature) {
      const event = provider.readWebhook(body, signature);
      const state = watchedEvents.includes(event.type) ? 'waiting' : 'ignored';
      const isNew = await sql.transaction((tx) => storeEvent(tx, event, state, now()));
      if (isNew && state === 'waiting') worker.wake();
    },
    start: async () => worker.start(),
    stop: () => worker.stop(),
    reports: () => worker.reports(),
    settled: () => worker.settled(),
    outside: unknownCardPayments({
      ...{ sql, provider, ledgerId, now, graceMs: config.TOP_UP_QUOTE_GRACE_MS },
      bringUpToDate: (quoteId, intentId) => worker.bringUpToDate(quoteId, intentId),
    }),
  };
}

function newQuote(purpose: string, order: CardOrder, config: CardConfig, now: number): QuoteRow {
  const expiresAt = now + config.TOP_UP_QUOTE_EXPIRATION_MS;
  const { method, address, addressType, debtor, currency } = order;
  const { paymentAmount, quotedPaymentAmount, winc } = order;
  return {
    id: randomUUID(),
    purpose,
    state: 'opening',
    method,
    sessionId: undefined,
    intentId: undefined,
    address,
    addressType,
    debtor,
    currency,
    paymentAmount,
    quotedPaymentAmount,
    winc,
    details: order.details ?? {},
    expiresAt,
    payableUntil: sessionEnd(expiresAt) + config.TOP_UP_QUOTE_GRACE_MS,
    ...untouched,
    createdAt: now,
  };
}

const idsOf = (order: CardOrder, session: CardSession) =>
  order.method === 'payment-intent' ? { intentId: session.id } : { sessionId: session.id };

/** Within the provider's limits: what is too long is cut, what is too many is left out. */
function bounded(metadata: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata)
      .slice(0, metadataLimits.keys)
      .map(([key, value]) => [
        key.slice(0, metadataLimits.keyLength),
        value.slice(0, metadataLimits.valueLength),
      ]),
  );
}

const writeBigint = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);

function logObservation(log: Logger, observation: CardObservation): void {
  if (!('quote' in observation)) return;
  const { kind, quote } = observation;
  const details = { quote: quote.id, purpose: quote.purpose, address: quote.address };
  if (kind === 'suspicious') {
    const { chargebacks } = observation;
    log.warn({ ...details, address: quote.debtor?.address, chargebacks }, 'wallet with disputed payments');
  } else if (kind === 'refused') {
    log.warn({ ...details, reason: observation.reason }, 'card payment refused, to be given back');
  } else if (kind === 'refund-failed') {
    const { reason, final } = observation;
    if (final) log.error({ ...details, reason }, 'card refund failed for good: give it back by hand');
    else log.warn({ ...details, reason }, 'card refund failed and will be tried again');
  } else {
    log.info(details, `card payment ${kind}`);
  }
}
