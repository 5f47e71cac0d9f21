/**
 * A card payment for a name was taken back, or given back. What was credited from it is taken from the wallet that it was
 * credited to; the signer of the quote owes the rest. The address of a quote is free text: where nobody signed, nobody
 * owes, and the operator has the loss. A token that the service still has is no longer the buyer's.
 *
 * For every purchase that was not given up, with `t` of its `total` winc taken back: the wallet has been taken
 * `excessShare(t)` from the moment it was credited, the debtor or the loss account all the rest of `t`.
 */

import { type Credits, LOSS_ACCOUNT, type Winc, winc } from '../../credits/credits.ts';
import type { CardQuote, Debtor, PaidQuote, Reversal } from '../../payments/card/card.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { giveBackCustody, holdingOf, takeBackCustody } from '../receipts.ts';
import { type PaidPurchase, type Promised, readPurchase } from './store.ts';

/** What of `takenBack` falls on the credits that came with the name. All of them when all of the payment is gone. */
export function excessShare({ winc: price, excessWinc }: Promised, takenBack: bigint): bigint {
  return (excessWinc * takenBack) / (price + excessWinc);
}

export async function takePaymentBack(
  tx: SqlExecutor,
  credits: Credits,
  quote: PaidQuote,
  { id, amount, remaining, reason }: Reversal,
): Promise<void> {
  const purchase = await readPurchase(tx, quote.id);
  // What was never delivered is not owed.
  if (purchase === undefined || purchase.status === 'FAILED') return;
  if (remaining === 0n) await takeBackCustody(tx, quote.id);
  const note = await describe(tx, quote, purchase);
  const after = quote.winc - remaining;
  for (const share of sharesOf(quote, purchase, { id, from: after - amount, to: after })) {
    await credits.within(tx).clawback({ ...share, reason, note });
  }
}

export async function givePaymentBack(
  tx: SqlExecutor,
  credits: Credits,
  quote: PaidQuote,
  { id, amount, remaining }: Reversal,
): Promise<void> {
  const purchase = await readPurchase(tx, quote.id);
  if (purchase === undefined || purchase.status === 'FAILED') return;
  if (remaining > 0n) await giveBackCustody(tx, quote.id);
  const note = await describe(tx, quote, purchase);
  const after = quote.winc - remaining;
  for (const share of sharesOf(quote, purchase, { id, from: after, to: after + amount })) {
    await credits.within(tx).credit({ ...share, reason: 'chargeback_reversed', note });
  }
}

/** Who owes the price of the name. */
export const debtorOf = ({ debtor }: CardQuote): Debtor => debtor ?? LOSS_ACCOUNT;

interface Share extends Debtor {
  readonly id: string;
  readonly amount: Winc;
}

/** Between two amounts taken back. In the order of accounts, in which they are locked everywhere. */
function sharesOf(
  quote: PaidQuote,
  purchase: PaidPurchase,
  { id, from, to }: { readonly id: string; readonly from: bigint; readonly to: bigint },
): Share[] {
  const excess =
    purchase.status === 'CONFIRMED' ? excessShare(purchase, to) - excessShare(purchase, from) : 0n;
  const { address, addressType } = quote;
  const shares: Share[] = [
    { address, addressType, id: `${id}:excess`, amount: winc(excess) },
    { ...debtorOf(quote), id, amount: winc(to - from - excess) },
  ];
  return shares
    .filter((share) => share.amount > 0n)
    .sort((a, b) => (a.address < b.address ? -1 : a.address > b.address ? 1 : 0));
}

/** What the operator reads beside a loss. */
async function describe(tx: SqlExecutor, quote: PaidQuote, purchase: PaidPurchase): Promise<string> {
  const { intent, purchase: asked } = purchase;
  const where = await whereabouts(tx, purchase);
  return `card payment ${quote.id} for ${quote.address}: ${intent} of ${asked.name}, ${where}`;
}

async function whereabouts(tx: SqlExecutor, purchase: PaidPurchase): Promise<string> {
  const { nonce, status, stage, antId, processId, address, purchase: asked } = purchase;
  if (status === 'PENDING') {
    return stage === 'handing' ? `token ${antId} is on its way to ${address}` : 'not delivered yet';
  }
  if (asked.action !== 'buy-name') return 'done on the chain';
  if (processId !== undefined) return `bound to the token ${processId} of the buyer`;
  const holding = await holdingOf(tx, nonce);
  if (holding === undefined || holding.custody === 'none') {
    return `token ${antId} was handed over to ${holding?.owner ?? address}`;
  }
  const moving = await tx.get(
    "SELECT nonce FROM arns_action WHERE ant_id = ? AND status = 'sending' AND action = 'transfer'",
    holding.antId,
  );
  return `token ${antId} is ${moving === undefined ? 'held by the service' : 'being handed over'}`;
}
