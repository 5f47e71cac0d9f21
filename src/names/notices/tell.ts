/**
 * What wallets are told of names (docs/events.md), in the transaction that ends an action or a purchase: the wallet that
 * paid, the owner whom it is for, and whoever a name was handed over to.
 */
import { tellWallets, type WalletEvent } from '../../events/wallet-events.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { ActionRequest, Purchase } from '../requests/action.ts';

export interface NameDeed {
  /** The nonce of the action, or of the purchase by card. */
  readonly id: string;
  readonly request: ActionRequest | Purchase;
  readonly payer: string;
  /** Who has the token of a bought name, where that is not the payer. */
  readonly owner?: string | undefined;
  readonly antId?: string | null | undefined;
}

/** `messageId`: the transaction that did it. */
export function tellDone(tx: SqlExecutor, deed: NameDeed, messageId: string, now: number): Promise<void> {
  const type = deed.request.action === 'buy-name' ? 'name.bought' : 'name.changed';
  return tell(tx, type, deed, { messageId }, now);
}

/** `refund`: in which currency it goes back, and how much where it is credits. */
export function tellNotDone(
  tx: SqlExecutor,
  deed: NameDeed,
  failure: { readonly reason: string; readonly refund: 'card' | bigint },
  now: number,
): Promise<void> {
  const { reason, refund } = failure;
  const back = refund === 'card' ? { refundedTo: 'card' } : { refundedWinc: refund.toString() };
  return tell(tx, 'name.failed', deed, { reason, ...back }, now);
}

function tell(
  tx: SqlExecutor,
  type: WalletEvent['type'],
  deed: NameDeed,
  outcome: Readonly<Record<string, string>>,
  now: number,
): Promise<void> {
  const { id, request, payer, antId } = deed;
  const owner = deed.owner ?? ('owner' in request ? request.owner : undefined);
  const data = {
    id,
    action: request.action,
    ...('name' in request && { name: request.name }),
    ...(antId != null && { antId }),
    ...('antId' in request && { antId: request.antId }),
    ...('undername' in request && { undername: request.undername }),
    ...('type' in request && { type: request.type }),
    ...('years' in request && request.years > 0 && { years: request.years }),
    ...('quantity' in request && { quantity: request.quantity }),
    ...('transactionId' in request && { transactionId: request.transactionId }),
    ...('target' in request && { target: request.target }),
    payer,
    ...(owner !== undefined && { owner }),
    ...outcome,
  };
  const wallets = new Set([payer]);
  if (owner !== undefined) wallets.add(owner);
  // Whoever a name is given to is told, once it is.
  if (type === 'name.changed' && request.action === 'transfer') wallets.add(request.target);
  return tellWallets(
    tx,
    [...wallets].map((wallet) => ({ type, wallet, data })),
    now,
  );
}
