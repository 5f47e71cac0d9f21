/**
 * Card payments whose quote is not here. We wrote the whole quote of a top-up beside its payment when we asked for it, and
 * nobody but us can: so the quote is put back from there, and the payment goes the way of every other.
 */
import { winc } from '../../credits/credits.ts';
import { parseCurrency } from '../../pricing/currencies.ts';
import { parseAmount } from '../../pricing/pricing.ts';
import { type Sql, type SqlExecutor, UniqueViolation } from '../../storage/sql/sql.ts';
import type { CreditOutcome, OutsideRecord, OutsideSource } from '../outside-records.ts';
import { wakeOpenEvents } from './inbox.ts';
import {
  type CardProvider,
  isOfLedger,
  ledgerIdKey,
  type ProviderPayment,
  quoteIdKey,
  sessionEnd,
} from './provider.ts';
import { insertQuote, type QuoteRow, readQuote, untouched } from './quotes.ts';

export interface UnknownPaymentsOptions {
  readonly sql: Sql;
  readonly provider: Pick<CardProvider, 'paymentsSince'>;
  readonly ledgerId: () => Promise<string>;
  /** How long after its end a quote may still be paid. */
  readonly graceMs: number;
  /** Brings a quote to what the provider says of its payment. */
  readonly bringUpToDate: (quoteId: string, intentId: string) => Promise<void>;
  readonly now: () => number;
}

/** Begun before the moment and paid after it: a session lasts a day at most. */
const longestSessionMs = 24 * 3_600_000;

const secondsOf = (unixMs: number): number => Math.max(0, Math.floor(unixMs / 1000));

export function unknownCardPayments(options: UnknownPaymentsOptions): OutsideSource {
  const { sql, provider } = options;
  return {
    name: 'card payments',
    async *unknown(since) {
      const ledgerId = await options.ledgerId();
      for await (const payments of provider.paymentsSince(secondsOf(since - longestSessionMs))) {
        for (const payment of payments) {
          if (!payment.isPaid || !isOfLedger(payment, ledgerId)) continue;
          if ((await readQuote(sql, payment.metadata[quoteIdKey] ?? '')) !== undefined) continue;
          yield recordOf(options, payment);
        }
      }
    },
  };
}

function recordOf(options: UnknownPaymentsOptions, payment: ProviderPayment): OutsideRecord {
  const { intentId, createdAt, received, currency, metadata } = payment;
  const { purpose = 'unknown', name, destinationAddress, owner } = metadata;
  const whom = destinationAddress ?? owner ?? 'nobody that is named';
  const base = {
    kind: 'card',
    id: intentId,
    at: createdAt,
    what: `${received} ${currency} for ${purpose}${name === undefined ? '' : ` ${name}`}, for ${whom}`,
  } as const;
  const quote = rebuilt(payment, options.graceMs);
  if (typeof quote === 'string') return { ...base, openBecause: quote };
  return { ...base, credit: () => takeIn(options, quote, intentId) };
}

/** Once: whoever puts the quote back second finds it there, and a quote is paid once. */
async function takeIn(
  { sql, bringUpToDate, now }: UnknownPaymentsOptions,
  row: QuoteRow,
  intentId: string,
): Promise<CreditOutcome> {
  const putBack = async (tx: SqlExecutor): Promise<void> => {
    if ((await readQuote(tx, row.id, tx.forUpdate)) === undefined) {
      await insertQuote(tx, { row, adjustments: '[]', referer: null, dueAt: now() });
    }
    await wakeOpenEvents(tx, intentId, now());
  };
  await sql.transaction(putBack).catch((error: unknown) => {
    // Another puts it back at the same moment.
    if (!(error instanceof UniqueViolation)) throw error;
  });
  await bringUpToDate(row.id, intentId);
  const quote = await readQuote(sql, row.id);
  if (quote?.state === 'paid') return { state: 'credited', address: quote.address, winc: quote.winc };
  return {
    state: 'taken in',
    reason: `the quote is ${quote?.state}${quote?.failure ? `: ${quote.failure}` : ''}`,
  };
}

/** The quote as it was, or why it cannot be put back. */
function rebuilt({ intentId, createdAt, metadata }: ProviderPayment, graceMs: number): QuoteRow | string {
  const { purpose, destinationAddress, destinationAddressType, giftMessage } = metadata;
  if (metadata[ledgerIdKey] === undefined) {
    return 'it is not marked with a ledger, as payments of earlier releases: make sure that no other service has credited it';
  }
  if (purpose !== 'top-up')
    return `it was paid for ${purpose ?? 'nothing that is named'}: deliver it or give it back`;
  const id = metadata[quoteIdKey];
  const bought = parseAmount(metadata.winstonCreditAmount ?? '');
  const currency = parseCurrency(metadata.currencyType ?? '');
  const paymentAmount = amountOf(metadata.paymentAmount);
  const quotedPaymentAmount = amountOf(metadata.quotedPaymentAmount);
  const expiresAt = Date.parse(metadata.quoteExpirationDate ?? '');
  if (
    id === undefined ||
    bought === undefined ||
    currency === undefined ||
    paymentAmount === undefined ||
    quotedPaymentAmount === undefined ||
    !Number.isSafeInteger(expiresAt) ||
    destinationAddress === undefined ||
    destinationAddressType === undefined
  ) {
    return 'what is written beside it is not a whole quote';
  }
  const wallet = { address: destinationAddress, addressType: destinationAddressType };
  return {
    ...{ id, purpose, state: 'quoted', method: 'payment-intent', sessionId: undefined, intentId },
    ...{ ...wallet, debtor: wallet, currency, paymentAmount, quotedPaymentAmount, winc: winc(bought) },
    details: { giftMessage: giftMessage ?? null },
    expiresAt,
    payableUntil: sessionEnd(expiresAt) + graceMs,
    ...untouched,
    createdAt,
  };
}

const amountOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[0-9]{1,12}$/.test(text) ? Number(text) : undefined;
