/**
 * What of a wallet's payments can be returned. The oldest winc is spent first (`credits/ledger/lots.ts`), so that of
 * each payment is left what is among the newest that came in. What is lent to others is not in the balance, what was
 * given or gifted is nobody's payment, and what a payment bought at once (x402 uploads) is spent.
 */

import { type Winc, winc } from '../../credits/credits.ts';
import { accountOfAddress, readAccount } from '../../credits/ledger/accounts.ts';
import { type Lot, newestLots, unspentOf } from '../../credits/ledger/lots.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { quotesByReceipt } from '../card/quotes.ts';
import { chainPaymentsById } from '../chain/store.ts';
import { creditedPayments } from '../x402/payment-rows.ts';
import type { CreditReturn, ReturnRules } from './returns.ts';
import { standingReturns } from './rows.ts';

/** A payment as far as a return of it is concerned. */
export interface ReturnablePayment
  extends Pick<CreditReturn, 'kind' | 'payment' | 'quoteId' | 'chain' | 'token' | 'recipient'> {
  /** Of a chain payment, as its payer knows it. */
  readonly transactionId: string | undefined;
  /** Unix milliseconds. */
  readonly paidAt: number;
  /** Until then it can be returned. */
  readonly until: number;
  /** What it brought, and what was paid for it. */
  readonly bought: Winc;
  readonly paid: bigint;
  /** What of it is left. */
  readonly unspent: Winc;
  /** What would go back for all of that. */
  readonly amount: bigint;
  /** How many returns of it there are. */
  readonly returns: number;
  /** Why it cannot be returned; undefined where it can. */
  readonly refusal: string | undefined;
}

/** A wallet that paid more often within the window can return the newest of them. */
const mostLots = 1_000;
/** Each costs the operator a transfer. */
export const mostReturns = 3;

/** What goes back for part of a payment: its share of what was paid, less the fee, rounded down. */
export function amountFor(
  { paid, bought }: Pick<ReturnablePayment, 'paid' | 'bought'>,
  part: bigint,
  { feeBasisPoints }: Pick<ReturnRules, 'feeBasisPoints'>,
): bigint {
  return bought === 0n ? 0n : (paid * part * (10_000n - feeBasisPoints)) / (bought * 10_000n);
}

/** The newest first. In a transaction that holds the account, what it says holds until the transaction ends. */
export async function returnablePayments(
  executor: SqlExecutor,
  address: string,
  rules: ReturnRules,
  now: number,
): Promise<ReturnablePayment[]> {
  if (rules.windowMs === 0) return [];
  const balance = (await readAccount(executor, await accountOfAddress(executor, address))) ?? 0n;
  const lots = await newestLots(executor, address, now - rules.windowMs, mostLots);
  const facts = await factsOf(executor, lots);
  const sized = lots.map((lot) => {
    const payment = facts.payments.get(lot.changeId);
    const returned = facts.returned.get(lot.changeId) ?? { winc: 0n, count: 0 };
    const size = BigInt(lot.amount) - returned.winc - (payment?.gone ?? 0n);
    return { lot, payment, returned, size: size > 0n ? size : 0n };
  });
  return unspentOf(balance, sized).flatMap(({ lot, payment, returned, unspent }) => {
    if (payment?.source === undefined) return [];
    const { source, refusal } = payment;
    const bought = winc(BigInt(lot.amount));
    const amount = amountFor({ paid: source.paid, bought }, unspent, rules);
    return [
      {
        ...source,
        payment: lot.changeId,
        paidAt: lot.createdAt,
        until: lot.createdAt + rules.windowMs,
        bought,
        unspent: winc(unspent),
        amount,
        returns: returned.count,
        refusal: refusal ?? refusalOf({ unspent, amount, returns: returned.count }, rules),
      },
    ];
  });
}

/** Why so much of a payment cannot be returned. */
export function refusalOf(
  { unspent, amount, returns }: { unspent: bigint; amount: bigint; returns: number },
  { minimumWinc }: ReturnRules,
): string | undefined {
  if (unspent === 0n) return 'nothing of it is left';
  if (returns >= mostReturns) return `it was returned ${mostReturns} times, which is the most`;
  if (unspent < minimumWinc || amount === 0n) return 'what is left of it is too little to be sent';
  return undefined;
}

type Source = Pick<
  ReturnablePayment,
  'kind' | 'quoteId' | 'chain' | 'token' | 'recipient' | 'transactionId' | 'paid'
>;

interface PaymentFacts {
  /** Winc of it that was taken back, or spent on what it was paid for. */
  readonly gone: bigint;
  /** Undefined where nothing of it can ever be returned: a gift. */
  readonly source: Source | undefined;
  readonly refusal?: string | undefined;
}

/** What is known of payments, and of their returns, by the change that credited them. */
async function factsOf(executor: SqlExecutor, lots: readonly Lot[]) {
  const idsOf = (...reasons: Lot['reason'][]) =>
    lots.filter(({ reason }) => reasons.includes(reason)).map(({ changeId }) => changeId);
  const payments = new Map<string, PaymentFacts>();
  const bought = new Set(idsOf('payment'));
  for (const [receiptId, quote] of await quotesByReceipt(
    executor,
    idsOf('payment', 'gifted_payment_redemption'),
  )) {
    const paid = BigInt(quote.paidAmount ?? quote.paymentAmount);
    const source: Source = {
      ...{ kind: 'card', quoteId: quote.id, chain: undefined, token: quote.currency },
      ...{ recipient: 'card', transactionId: undefined, paid },
    };
    const isOurs = quote.state === 'paid' && !quote.undelivered;
    payments.set(receiptId, {
      gone: quote.takenBack,
      source: bought.has(receiptId) && quote.purpose === 'top-up' ? source : undefined,
      refusal: isOurs ? undefined : 'its payment is disputed or has gone back',
    });
  }
  for (const row of await chainPaymentsById(executor, idsOf('crypto_payment'))) {
    payments.set(row.id, {
      gone: 0n,
      source: {
        ...{ kind: 'chain', quoteId: undefined, chain: row.chain, token: row.token },
        ...{ recipient: row.sender, transactionId: row.transactionId, paid: row.quantity },
      },
    });
  }
  for (const row of await creditedPayments(executor, idsOf('x402_payment'))) {
    payments.set(row.id, {
      gone: row.purchase === 'reserved' || row.purchase === 'spent' ? row.reserved : 0n,
      source: {
        ...{ kind: 'x402', quoteId: undefined, chain: row.network, token: 'usdc' },
        ...{ recipient: row.payer, transactionId: row.transaction, paid: row.value },
      },
    });
  }
  const returned = new Map<string, { winc: bigint; count: number }>();
  for (const row of await standingReturns(executor, [...payments.keys()])) {
    const { winc: before, count } = returned.get(row.payment) ?? { winc: 0n, count: 0 };
    returned.set(row.payment, { winc: before + row.winc, count: count + 1 });
  }
  return { payments, returned };
}
