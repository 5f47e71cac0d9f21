/**
 * What wallets are told of their uploads (docs/events.md), each in the transaction of the change. The wallet that signed
 * is told everything; another that paid is told what it paid, and what came back.
 */
import { type PayerShare, type Spending, winc } from '../../credits/credits.ts';
import { amountsByPayer } from '../../credits/ledger/spendings.ts';
import { tellWallets, type WalletEvent } from '../../events/wallet-events.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';

interface Received {
  readonly id: string;
  readonly signer: string;
  readonly size: number;
  readonly contentType: string;
  /** Unix milliseconds. */
  readonly receivedAt: number;
}

/** `paid`: by credits, by a payment of its own, or nothing because it was free. */
export interface Price {
  readonly paid: 'credits' | 'payment' | 'free';
  readonly winc: bigint;
  /** Who paid it in credits. */
  readonly split: readonly PayerShare[];
}

export function tellReceipt(tx: SqlExecutor, item: Received, price: Price): Promise<void> {
  const { id, signer, size, contentType } = item;
  const about = { id, size, contentType };
  const data = { ...about, winc: price.winc.toString(), paid: price.paid };
  const payers = price.split.every(({ payer }) => payer === signer) ? [] : amountsByPayer(price.split);
  const events: WalletEvent[] = [
    { type: 'upload.receipt', wallet: signer, data: payers.length === 0 ? data : { ...data, payers } },
  ];
  for (const { address, winc: part } of payers) {
    if (address === signer) continue;
    events.push({
      type: 'upload.receipt',
      wallet: address,
      data: { ...about, winc: part, paid: 'credits', signer },
    });
  }
  return tellWallets(tx, events, item.receivedAt);
}

/** `refund`: what was given back, where something had been paid. */
export function tellFailed(
  tx: SqlExecutor,
  item: { readonly id: string; readonly signer: string; readonly reason: string },
  refund: Pick<Spending, 'split' | 'amount'> | undefined,
  now: number,
): Promise<void> {
  const { id, signer, reason } = item;
  const { amount = winc(0n), split = [] } = refund ?? {};
  const others = amountsByPayer(split).filter(({ address }) => address !== signer);
  const events: WalletEvent[] = [
    { type: 'upload.failed', wallet: signer, data: { id, reason, refundedWinc: amount.toString() } },
    ...others.map(({ address, winc: part }) => ({
      type: 'upload.failed' as const,
      wallet: address,
      data: { id, reason, refundedWinc: part, signer },
    })),
  ];
  return tellWallets(tx, events, now);
}

/** The same for all items of a bundle: one row of the log for each wallet that has some in it. */
export async function tellBundle(
  tx: SqlExecutor,
  type: 'upload.bundled' | 'upload.permanent',
  plan: string,
  data: WalletEvent['data'],
  now: number,
): Promise<void> {
  const items = await tx.all<{ id: string; signer: string }>(
    'SELECT id, signer FROM upload_items WHERE bundle = ? ORDER BY position',
    plan,
  );
  const bySigner = Map.groupBy(items, ({ signer }) => signer);
  const events = [...bySigner].map(([wallet, own]) => ({ type, wallet, data, ids: own.map(({ id }) => id) }));
  await tellWallets(tx, events, now);
}
