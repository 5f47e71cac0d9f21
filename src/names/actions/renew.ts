/**
 * A transaction that its owner signs first, made anew when its time is over. Nobody but the service had its signatures,
 * or it is proven dead, so that the one before can have no effect. What it does is judged by the chain as it stands now;
 * where it costs more than was paid, or cannot be done any more, the action ends and its credits return.
 */
import { badRequest, NamesError } from '../errors.ts';
import { checkAction } from './check-action.ts';
import type { ActionContext } from './context.ts';
import { giveUp, readAgain } from './finish.ts';
import { forOwner, subjectOf } from './perform.ts';
import { type Action, advance } from './store.ts';

/** With the action's own lock held. Answers the action as it stands then. */
export function renew(context: ActionContext, action: Action): Promise<Action> {
  const { request, nonce } = action;
  const subject = subjectOf(request);
  return context.locks.hold(subject, async () => {
    try {
      const made = await planAgain(context, action);
      await context.sql.transaction(async (tx) => {
        await context.locks.fence(tx, subject);
        await advance(tx, action, 'awaiting', { at: context.now(), ...made });
      });
    } catch (error) {
      if (!(error instanceof NamesError) || error.status >= 500) throw error;
      await giveUp(context, action, 'expired', error.message);
      throw badRequest(`Action ${nonce} expired and was refunded; create a new one. ${error.message}`);
    }
    return readAgain(context, action);
  });
}

async function planAgain(context: ActionContext, action: Action) {
  const { request, payer } = action;
  const provenOwner = 'owner' in request ? request.owner : undefined;
  const check = () => checkAction(context, { request, payer, provenOwner });
  const { work, winc } = await check();
  if (winc > action.winc) throw badRequest('The price has risen since');
  return forOwner(context, action, { work, again: async () => (await check()).work }, 0n);
}
