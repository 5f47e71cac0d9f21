/**
 * What the service sent for a name or a token and does not know the outcome of. Nothing is planned on top of it: one
 * purchase is told from another by what stood before it, and a record is written as a whole.
 */
import { isChainFailure } from '../../registry/errors.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { deliver, readOutcome } from '../chain/delivery.ts';
import { chainUnavailable, stillBusy } from '../errors.ts';
import type { ActionContext } from './context.ts';
import { isEffectOnChain } from './effect.ts';
import { complete, giveUp } from './finish.ts';
import type { Action } from './store.ts';

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

/** With the subject's lock held: ends what is open on it, or refuses to go on. */
export async function requireSettled(
  context: ActionContext,
  subject: { readonly name: string } | { readonly antId: string },
): Promise<void> {
  try {
    for (const nonce of await sentOn(context.sql, subject)) {
      const action = await context.store.byNonce(nonce);
      if (action?.status !== 'sending') continue;
      if ((await settleSent(context, action)).status === 'sending') throw stillBusy();
    }
  } catch (error) {
    if (isChainFailure(error)) throw chainUnavailable(error);
    throw error;
  }
  if ('name' in subject && (await isPaidByCard(context.sql, subject.name))) throw stillBusy();
}

/** More cannot be: each was begun with none before it unsettled. */
const mostAtOnce = 10;

async function sentOn(sql: Sql, subject: { name: string } | { antId: string }): Promise<string[]> {
  const [where, value] =
    'name' in subject ? ['name = ?', subject.name] : ['ant_id = ? AND name IS NULL', subject.antId];
  const rows = await sql.all<{ nonce: string }>(
    `SELECT nonce FROM arns_action WHERE ${where} AND status = 'sending' LIMIT ${mostAtOnce}`,
    value,
  );
  return rows.map(({ nonce }) => nonce);
}

/** Whether a purchase by card is paying the registry for something of a name that exists. */
async function isPaidByCard(sql: Sql, name: string): Promise<boolean> {
  const row = await sql.get(
    `SELECT nonce FROM arns_purchase
      WHERE name = ? AND stage = 'paying' AND status = 'PENDING' AND purchase <> 'buy-name' LIMIT 1`,
    name,
  );
  return row !== undefined;
}
