/**
 * The one transaction that makes an item ours: its row, the credits it costs, and the loan it creates or revokes.
 * All of it happens or none; an id that is stored already changes nothing.
 */
import {
  ApprovalConflict,
  type Credits,
  InsufficientCredits,
  InvalidApproval,
  NothingToRevoke,
  UnknownWallet,
  type Winc,
  winc,
} from '../../credits/credits.ts';
import { spendingQueue } from '../../credits/ledger/payers.ts';
import { PurchaseOver } from '../../payments/x402/errors.ts';
import { returnPurchase, spendPurchase } from '../../payments/x402/purchases.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { uploadErrors } from '../errors.ts';
import { useBlobs, useNoted } from '../items/blob-uses.ts';
import { forgetFailed, insertItem, type NewItem, setAnswer } from '../items/item-rows.ts';
import { type Price, tellReceipt } from '../items/notices.ts';
import type { ApprovalOrder, RevokeOrder } from './approval-tags.ts';
import type { FreeTier } from './free-tier.ts';
import type { Payment } from './payment.ts';

export interface StoreDeps {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly freeTier: FreeTier;
}

export interface Stored {
  /** What the receipt says was charged. */
  readonly winc: Winc;
  readonly answer: Readonly<Record<string, unknown>>;
}

/**
 * Undefined when the item is stored already. Throws the answer when it cannot be paid or its order is refused, and what
 * `guard` throws, which comes first.
 */
export function storeItem(
  deps: StoreDeps,
  item: NewItem,
  payment: Payment,
  order: ApprovalOrder | RevokeOrder | undefined,
  guard?: (tx: SqlExecutor) => Promise<void>,
): Promise<Stored | undefined> {
  const charged = payment.kind === 'credits' ? payment.spend.amount : winc(0n);
  // Only what locks nothing but its signer's account.
  const isPlain = order === undefined && guard === undefined && item.segments.length === 0;
  const queue = isPlain && payment.kind === 'credits' ? spendingQueue(payment.spend) : undefined;
  return deps.sql.transaction(async (tx) => {
    await guard?.(tx);
    const row = { ...item, winc: charged };
    if (!(await insertItem(tx, row))) {
      if (!(await forgetFailed(tx, item.id, item.receivedAt)) || !(await insertItem(tx, row))) {
        // Another request stored it meanwhile: a payment that has not bought it is left as credits.
        if (payment.kind === 'prepaid') await returnPurchase(tx, deps.credits, payment.payment, item.id);
        return undefined;
      }
    }
    await (item.isNoted ? useNoted : useBlobs)(tx, item.segments, item.receivedAt);
    await tellReceipt(tx, item, await pay(tx, deps, item, payment));
    const carried = await carryOut(tx, deps.credits, item, order);
    const answer = { ...item.answer, ...carried };
    if (carried !== undefined) await setAnswer(tx, item.id, answer);
    return { winc: charged, answer };
  }, queue);
}

async function pay(tx: SqlExecutor, deps: StoreDeps, item: NewItem, payment: Payment): Promise<Price> {
  if (payment.kind === 'free') {
    await deps.freeTier.count(tx, item.size, item.signer, payment.clientAddress, item.receivedAt);
    return { paid: 'free', winc: 0n, split: [] };
  }
  if (payment.kind === 'prepaid') {
    try {
      await spendPurchase(tx, deps.credits, payment.payment, item.id, payment.amount);
    } catch (error) {
      if (error instanceof PurchaseOver) throw uploadErrors.insufficientBalance();
      throw error;
    }
    return { paid: 'payment', winc: payment.amount, split: [] };
  }
  const { amount, adjustments = [] } = payment.spend;
  // What is free by a limited adjustment is counted all the same.
  if (amount === 0n && !adjustments.some(({ limited }) => limited === true)) {
    return { paid: 'free', winc: 0n, split: [] };
  }
  try {
    const spent = { ...payment.spend, id: item.id, reason: 'upload' } as const;
    const { split } = await deps.credits.within(tx).spend(spent);
    return { paid: amount === 0n ? 'free' : 'credits', winc: amount, split };
  } catch (error) {
    if (error instanceof InsufficientCredits || error instanceof UnknownWallet) {
      throw uploadErrors.insufficientBalance();
    }
    throw error;
  }
}

async function carryOut(
  tx: SqlExecutor,
  credits: Credits,
  item: NewItem,
  order: ApprovalOrder | RevokeOrder | undefined,
): Promise<Record<string, unknown> | undefined> {
  if (order === undefined) return undefined;
  const { id, signer: payer } = item;
  const { approved } = order;
  try {
    if (order.kind === 'revoke') {
      return { revokedApprovals: await credits.within(tx).revoke({ id, payer, approved }) };
    }
    const { expiresInSeconds } = order;
    const createdApproval = await credits.within(tx).approve({
      id,
      payer,
      approved,
      amount: winc(order.amount),
      ...(expiresInSeconds === undefined ? {} : { expiresInSeconds }),
    });
    return { createdApproval };
  } catch (error) {
    if (error instanceof NothingToRevoke) throw uploadErrors.revokeFailed(error.message);
    for (const refusal of [ApprovalConflict, InvalidApproval, UnknownWallet, InsufficientCredits]) {
      if (error instanceof refusal) throw uploadErrors.approvalFailed(error.message);
    }
    throw error;
  }
}
