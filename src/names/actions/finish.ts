/** The ends of an action: each moves the credits and the row together, once. */
import { winc } from '../../credits/credits.ts';
import { yearSeconds } from '../../formats/solana/name-prices.ts';
import type { NameRegistry } from '../../registry/name-registry.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { deliver, readOutcome } from '../chain/delivery.ts';
import { learnSlot, shareSlot } from '../chain/shared-slot.ts';
import { chainFailureAs, chainUnavailable, stillBusy } from '../errors.ts';
import { watchLease } from '../notices/leases.ts';
import { type NameDeed, tellDone, tellNotDone } from '../notices/tell.ts';
import { endCustody, writeReceipt } from '../receipts.ts';
import { capitalIntent } from '../requests/read-purchase.ts';
import type { ActionContext } from './context.ts';
import { type Action, advance, advanceToCompleted, findAction, keptWincOf } from './store.ts';

/** The effect is on the chain: what was reserved is spent. */
export async function complete(context: ActionContext, action: Action, messageId: string): Promise<Action> {
  await shareSlot(context);
  const at = context.now();
  const done = await context.sql.transaction(async (tx) => {
    if (!(await advanceToCompleted(tx, action.nonce, { at, messageId }))) return false;
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
      await watchLease(tx, request.name, request.action === 'buy-name', at);
    } else if (request.action === 'transfer') {
      await endCustody(tx, request.antId, request.target);
    }
    await tellDone(tx, deedOf(action), messageId, at);
    return true;
  });
  if ('name' in action.request) context.prices.forget(action.request.name);
  if (done) {
    context.metrics.action(action.request.action, 'completed');
    await context.changed.done(action.request);
  }
  return readAgain(context, action);
}

/**
 * It did not happen and will not, as the action was judged: what was paid goes back to whom it came from, but for what the
 * service has spent on the chain for it.
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
    if (!(await advance(tx, action, status, { at, failedReason, ...kept }))) return false;
    const credits = context.credits.within(tx);
    const all = await keptWincOf(tx, action.nonce);
    if (all > 0n) await credits.settle('arns_action', action.nonce, winc(all));
    else await credits.refund('arns_action', action.nonce);
    await tellNotDone(tx, deedOf(action), { reason: failedReason, refund: action.winc - all }, at);
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

function deedOf({ nonce, request, payer, antId, before }: Action): NameDeed {
  return { id: nonce, request, payer, antId: antId ?? before?.ant };
}

/** The action as it stands now. */
export async function readAgain(context: ActionContext, action: Action): Promise<Action> {
  return (await findAction(context.sql, action.nonce)) ?? action;
}

/**
 * Whether the effect of a purchase is on the chain: asked before a refund where the chain does not know its transaction,
 * because a lost answer is not a lost purchase. It is not asked for one that is known to have failed: others may have
 * paid for the same. Fails with `ChainUnavailable` where the chain cannot say. Record and controller actions are known by
 * their signature alone.
 */
export async function isEffectOnChain(
  registry: Pick<NameRegistry, 'name'>,
  { request, antId, before }: Pick<Action, 'request' | 'antId' | 'before'>,
): Promise<boolean> {
  if (!('name' in request)) return false;
  const { record } = await registry.name(request.name);
  if (record === undefined) return false;
  switch (request.action) {
    case 'buy-name':
      return record.ant === antId;
    case 'upgrade-name':
      return before?.type === 'lease' && record.type === 'permabuy';
    case 'extend-lease':
      return (
        before?.end != null &&
        record.end !== undefined &&
        record.end >= before.end + request.years * yearSeconds
      );
    case 'increase-undername-limit':
      return before !== undefined && record.undernameLimit >= before.undernameLimit + request.quantity;
  }
}

/** Ends an action that the service sent by itself, by what the chain now says of it. */
export async function settleSent(context: ActionContext, action: Action): Promise<Action> {
  const { service } = action;
  if (service === undefined)
    return giveUp(context, action, 'failed', 'The service was interrupted before it acted');
  const known = await readOutcome(context.chain, service);
  if (known === undefined) {
    await deliver(context.chain, service, { timeoutMs: 0 });
    return action;
  }
  if (known.outcome === 'failed')
    return giveUp(context, action, 'failed', 'The transaction failed on the chain');
  if (known.outcome === 'confirmed' || (await isEffectOnChain(context.registry, action))) {
    return complete(context, action, service.signature);
  }
  return giveUp(context, action, 'failed', 'The transaction did not land');
}

/**
 * With the subject's lock held: ends what the service sent for it and does not know the outcome of, or refuses to go on.
 * Nothing is planned on top of that: one purchase is told from another by what stood before it, and a record is written
 * as a whole. What was done is there when the chain is read next.
 */
export async function requireSettled(context: ActionContext, subject: Subject): Promise<void> {
  for (const nonce of await sentOn(context.sql, subject)) {
    const action = await findAction(context.sql, nonce);
    if (action?.status !== 'sending') continue;
    const after = await settleSent(context, action).catch(chainFailureAs(chainUnavailable));
    if (after.status === 'sending') throw stillBusy();
  }
  if ('name' in subject && (await isPaidByCard(context.sql, subject.name))) throw stillBusy();
  await learnSlot(context).catch(chainFailureAs(chainUnavailable));
}

type Subject = { readonly name: string } | { readonly antId: string };

/** More cannot be: each was begun with none before it unsettled. */
const mostAtOnce = 10;

async function sentOn(sql: Sql, subject: Subject): Promise<string[]> {
  const [where, value] =
    'name' in subject ? ['name = ?', subject.name] : ['ant_id = ? AND name IS NULL', subject.antId];
  const rows = await sql.all<{ nonce: string }>(
    `SELECT nonce FROM arns_action WHERE ${where} AND status = 'sending' LIMIT ${mostAtOnce}`,
    value,
  );
  return rows.map(({ nonce }) => nonce);
}

/** Whether a purchase by card is paying the registry for something that is told from others by what stood before. */
async function isPaidByCard(sql: Sql, name: string): Promise<boolean> {
  const row = await sql.get(
    `SELECT nonce FROM arns_purchase
      WHERE name = ? AND stage = 'paying' AND status = 'PENDING'
        AND (purchase <> 'buy-name' OR process_id IS NOT NULL) LIMIT 1`,
    name,
  );
  return row !== undefined;
}
