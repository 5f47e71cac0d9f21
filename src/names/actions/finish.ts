/** The ends of an action: each moves the credits and the row together, once. */
import { winc } from '../../credits/credits.ts';
import { endCustody, writeReceipt } from '../receipts.ts';
import { capitalIntent } from '../requests/read-purchase.ts';
import type { ActionContext } from './context.ts';
import { type Action, advance, keptWincOf, openStatuses } from './store.ts';

/** The effect is on the chain: what was reserved is spent. */
export async function complete(context: ActionContext, action: Action, messageId: string): Promise<Action> {
  const at = context.now();
  const done = await context.sql.transaction(async (tx) => {
    if (!(await advance(tx, action.nonce, openStatuses, 'completed', { at, messageId }))) return false;
    await context.credits.within(tx).settle('arns_action', action.nonce);
    const { request } = action;
    if ('name' in request) {
      await writeReceipt(tx, {
        reference: action.nonce,
        name: request.name,
        antId: action.antId ?? action.before?.ant,
        intent: capitalIntent(request.action),
        ...(request.action === 'buy-name' && { type: request.type, owner: request.owner }),
        ...('years' in request && request.years > 0 && { years: request.years }),
        payer: action.payer,
        custody: 'none',
        purchasedAt: at,
      });
    } else if (request.action === 'transfer') {
      await endCustody(tx, request.antId, request.target);
    }
    return true;
  });
  if ('name' in action.request) context.prices.forget(action.request.name);
  if (done) context.metrics.action(action.request.action, 'completed');
  return readAgain(context, action);
}

/**
 * It did not happen and will not: what was paid goes back to whom it came from, but for what the service has spent on
 * the chain for it.
 */
export async function giveUp(
  context: ActionContext,
  action: Action,
  status: 'failed' | 'expired',
  reason: string,
  keptWinc = 0n,
): Promise<Action> {
  const at = context.now();
  const failedReason = reason.slice(0, 500);
  const done = await context.sql.transaction(async (tx) => {
    const kept = keptWinc > 0n ? { keptWinc } : {};
    if (!(await advance(tx, action.nonce, openStatuses, status, { at, failedReason, ...kept }))) return false;
    const credits = context.credits.within(tx);
    const all = await keptWincOf(tx, action.nonce);
    if (all > 0n) await credits.settle('arns_action', action.nonce, winc(all));
    else await credits.refund('arns_action', action.nonce);
    return true;
  });
  if (done) {
    context.metrics.action(action.request.action, status);
    context.metrics.refund(status);
    context.log.info(
      { nonce: action.nonce, action: action.request.action, status, reason },
      'action refunded',
    );
  }
  return readAgain(context, action);
}

/** The action as it stands now. */
export async function readAgain(context: ActionContext, action: Action): Promise<Action> {
  return (await context.store.byNonce(action.nonce)) ?? action;
}
