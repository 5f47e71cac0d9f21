/**
 * Finishing what was left unfinished: a crash, a chain that was away, an owner who never signed. The chain is asked
 * first, always; where it cannot be read nothing is decided.
 */
import { HttpError } from '../../kernel/errors.ts';
import { isChainFailure } from '../../registry/errors.ts';
import { deliver, readOutcome } from '../chain/delivery.ts';
import { LockTimeout } from '../locks.ts';
import type { ActionContext } from './context.ts';
import { complete, giveUp, isEffectOnChain, readAgain, settleSent } from './finish.ts';
import { registerName } from './perform.ts';
import { continueAfterOwner } from './sign.ts';
import { type Action, openActions } from './store.ts';

const pageSize = 200;
/** A request that made or signed an action may still be at work on it this long after its last step. */
const settlingMs = 60_000;

/** Clocks of processes differ by less; what is further in the future was written by one that was wrong. */
const clockErrorMs = 3_600_000;

/** An action that another request holds for longer is left to the next round. */
const lockWaitMs = 2_000;

/** Goes on with every open action once. */
export async function reconcileActions(context: ActionContext, unchangedFor = settlingMs): Promise<void> {
  let last = '';
  const now = context.now();
  const unchanged = { since: now - unchangedFor, latest: now + clockErrorMs };
  for (;;) {
    const open = await openActions(context.sql, unchanged, last, pageSize);
    for (const action of open) {
      await finishOne(context, action);
      last = action.nonce;
    }
    if (open.length < pageSize) return;
  }
}

async function finishOne(context: ActionContext, action: Action): Promise<void> {
  try {
    await context.locks.hold(`sign ${action.nonce}`, () => reconcile(context, action), lockWaitMs);
  } catch (error) {
    const waiting = error instanceof HttpError || isChainFailure(error) || error instanceof LockTimeout;
    context.log[waiting ? 'debug' : 'error']({ err: error, nonce: action.nonce }, 'an action stays open');
  }
}

async function reconcile(context: ActionContext, before: Action): Promise<Action> {
  const action = await readAgain(context, before);
  switch (action.status) {
    case 'reserved':
      // Whatever is sent or handed out is stored first, so nothing was.
      return giveUp(context, action, 'failed', 'The service was interrupted before it acted');
    case 'sending':
      return settleSent(context, action);
    case 'awaiting':
    case 'signed':
      return checkOwned(context, action);
    case 'spawned':
      return finishSpawned(context, action);
    default:
      return action;
  }
}

/** The owner may have sent the transaction elsewhere; one that can no longer be confirmed ends the action early. */
async function checkOwned(context: ActionContext, action: Action): Promise<Action> {
  const { owned } = action;
  if (owned === undefined) return action;
  const known = await readOutcome(context.chain, owned);
  if (known === undefined) {
    if (action.status === 'signed') await deliver(context.chain, owned, { timeoutMs: 0 });
    return action;
  }
  if (known.outcome === 'confirmed') return continueAfterOwner(context, action, owned);
  if (known.outcome === 'failed')
    return giveUp(context, action, 'failed', 'The transaction failed on the chain');
  // Where the owner signs first, it is made anew when the owner comes.
  if (action.status === 'awaiting' && action.ownerFirst && !isOver(context, action)) return action;
  return giveUp(context, action, 'expired', 'The transaction was not signed in time');
}

/** Past its deadline, or with one that no clock that is right has given. */
function isOver({ now, settings }: ActionContext, { expiresAt }: Action): boolean {
  return now() > expiresAt || expiresAt > now() + settings.lifeMs + clockErrorMs;
}

/** The token exists. The name is tried for until the deadline; a try that may still be confirmed is waited for. */
async function finishSpawned(context: ActionContext, action: Action): Promise<Action> {
  if (await isEffectOnChain(context.registry, action)) {
    return complete(context, action, action.service?.signature ?? action.owned?.signature ?? '');
  }
  if (action.service !== undefined && (await readOutcome(context.chain, action.service)) === undefined)
    return action;
  if (context.now() > action.expiresAt) {
    return giveUp(context, action, 'failed', 'The name could not be registered in time');
  }
  return registerName(context, action);
}
