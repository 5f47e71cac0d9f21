/** Asking for a return: the credits are taken and the return is stored in one transaction, or nothing is. */
import { randomUUID } from 'node:crypto';
import { type Credits, type Winc, winc } from '../../credits/credits.ts';
import { accountOfAddress, lockAccount } from '../../credits/ledger/accounts.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import { changeReturned, lockQuote } from '../card/quotes.ts';
import { lockPaymentRow } from '../x402/payment-rows.ts';
import { amountFor, type ReturnablePayment, refusalOf, returnablePayments } from './returnable.ts';
import { type CreditReturn, ReturnRefused, type ReturnRules } from './returns.ts';
import { insertReturn, type ReturnRow, returnByRequest } from './rows.ts';

export interface ReturnRequest {
  readonly wallet: WalletAddress;
  /** As `returnablePayments` names it, or the id of its transaction. */
  readonly payment: string;
  /** Part of what is left of it; all of it without. */
  readonly amount?: Winc | undefined;
  /** The same key answers the same return. */
  readonly requestKey: string;
}

export interface RequestContext {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly rules: ReturnRules;
  readonly now: () => number;
}

/** Throws `ReturnRefused`. `isNew`: false when this request was made before. */
export async function requestReturn(
  context: RequestContext,
  request: ReturnRequest,
): Promise<{ readonly made: CreditReturn; readonly isNew: boolean }> {
  const { sql, rules } = context;
  if (rules.windowMs === 0) throw returnsOff();
  // Which rows there are to lock; what holds is read again under the locks.
  const seen = await find(sql, context, request);
  return sql.transaction(async (tx) => {
    // In the order of everybody who changes both: the payment, then the account.
    if (seen?.quoteId !== undefined) await lockQuote(tx, seen.quoteId);
    if (seen?.kind === 'x402') await lockPaymentRow(tx, seen.payment);
    const account = await accountOfAddress(tx, request.wallet.address);
    const isKnown = (await lockAccount(tx, account)) !== undefined;
    const before = await returnByRequest(tx, request.requestKey);
    if (before !== undefined) return { made: before, isNew: false };
    const payment = isKnown ? await find(tx, context, request) : undefined;
    if (payment === undefined) {
      throw new ReturnRefused('unknown', `There is no payment ${request.payment} that can be returned`);
    }
    const made = newReturn(context, { ...request, account }, payment);
    await insertReturn(tx, made);
    await context.credits.within(tx).reserve({
      id: made.id,
      reason: 'payment_return',
      signer: account,
      signerType: made.addressType,
      amount: made.winc,
    });
    if (made.quoteId !== undefined) await changeReturned(tx, made.quoteId, made.winc, made.createdAt);
    return { made, isNew: true };
  });
}

export const returnsOff = () => new ReturnRefused('off', 'This service does not return payments');

async function find(
  executor: SqlExecutor,
  { rules, now }: RequestContext,
  { wallet, payment }: ReturnRequest,
): Promise<ReturnablePayment | undefined> {
  const payments = await returnablePayments(executor, wallet.address, rules, now());
  return payments.find((one) => one.payment === payment || one.transactionId === payment);
}

function newReturn(
  { rules, now }: RequestContext,
  { wallet, account, amount: asked, requestKey }: ReturnRequest & { readonly account: string },
  payment: ReturnablePayment,
): ReturnRow {
  const { unspent, returns } = payment;
  const part = asked ?? unspent;
  if (part > unspent) {
    throw new ReturnRefused('amount', `Only ${unspent} winc of this payment are left`);
  }
  const amount = amountFor(payment, part, rules);
  const refusal = payment.refusal ?? refusalOf({ unspent: part, amount, returns }, rules);
  if (refusal !== undefined) throw new ReturnRefused('not-returnable', `Not returnable: ${refusal}`);
  const at = now();
  return {
    ...{ id: randomUUID(), requestKey, address: account, addressType: wallet.kind },
    ...{ kind: payment.kind, payment: payment.payment, quoteId: payment.quoteId, chain: payment.chain },
    ...{ token: payment.token, winc: winc(part), amount, recipient: payment.recipient, state: 'due' },
    ...{ reference: undefined, wire: undefined, queue: undefined, validUntil: undefined },
    ...{ tries: 0, reason: undefined, dueAt: at, leasedUntil: 0, leases: 0, createdAt: at, changedAt: at },
  };
}
