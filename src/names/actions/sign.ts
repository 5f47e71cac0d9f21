/** Takes the transaction that an owner signed (interface §4.2): only the signature is taken, into our own copy. */
import { FormatError } from '../../formats/format-error.ts';
import { addressBytes, type SolanaAddress } from '../../formats/solana/address.ts';
import {
  maxTransactionBase64,
  parseTransaction,
  serializeTransaction,
  signersOf,
} from '../../formats/solana/transaction.ts';
import { verifyMessage } from '../../wallets/message-signature.ts';
import { deliver } from '../chain/delivery.ts';
import type { SignedTransaction } from '../chain/plan.ts';
import { describeFailure, isMadeMeanwhile } from '../chain/program-failure.ts';
import {
  actionNotFound,
  badRequest,
  chainFailureAs,
  chainUnreadable,
  nameExists,
  notYetSeen,
  signedTooLate,
} from '../errors.ts';
import type { ActionContext } from './context.ts';
import { complete, giveUp, readAgain } from './finish.ts';
import { registerName } from './perform.ts';
import { renew } from './renew.ts';
import { type Action, advance, findAction } from './store.ts';

interface Signed {
  readonly action: Action;
  readonly alreadyCompleted: boolean;
}

/** What is brought to `/sign`. */
interface Brought {
  /** The owner's; undefined asks for one that can be signed, where the owner signs first. */
  readonly transaction: unknown;
  /** Asks for the service's signatures after all: some wallets change what carries none. */
  readonly serviceFirst: boolean;
}

export function signAction(context: ActionContext, nonce: string, brought: Brought): Promise<Signed> {
  return context.locks.hold(`sign ${nonce}`, async () => {
    const action = await findAction(context.sql, nonce);
    if (action === undefined) throw actionNotFound();
    if (action.status === 'completed') return { action, alreadyCompleted: true };
    if (action.status === 'failed' || action.status === 'expired') {
      throw badRequest(`Action ${nonce} expired and was refunded; create a new one.`);
    }
    const { owned } = action;
    if (owned === undefined) throw chainUnreadable();
    // Once the owner's transaction is on its way, asking again only waits for it.
    if (action.status !== 'awaiting') {
      const settled = await completeOwned(context, action, owned, 'again');
      return settled === 'void' ? renewed(context, action) : settled;
    }
    if (context.now() > action.expiresAt) {
      const since = new Date(action.expiresAt).toISOString();
      throw badRequest(
        `Action ${nonce} expired at ${since} — its blockhash is no longer valid. Create a new action; the credits for this one are refunded automatically.`,
      );
    }
    if (action.ownerFirst && brought.transaction === undefined)
      return handOut(context, action, owned, brought.serviceFirst);
    const signed = withSignature(action, owned, brought.transaction);
    if (action.ownerFirst && (await isDead(context, signed))) {
      return renewed(context, action);
    }
    const sent: Action = { ...action, status: 'signed', owned: signed };
    const send = async () => {
      const isNext = await advance(context.sql, action, 'signed', { at: context.now(), owned: signed });
      // It was ended or made anew by another process, which took the lock of one that slept.
      if (!isNext) throw chainUnreadable();
      return completeOwned(context, sent, signed, 'first');
    };
    const { request } = action;
    const settled =
      request.action === 'buy-name'
        ? await context.locks.hold(`name ${request.name}`, async () => {
            await requireFree(context, action, request.name);
            return send();
          })
        : await send();
    return settled === 'void' ? renewed(context, sent) : settled;
  });
}

/** Another in its place, which the owner is to sign. Takes the lock of what the action is about. */
async function renewed(context: ActionContext, action: Action): Promise<Signed> {
  const made = await renew(context, action).catch(chainFailureAs(chainUnreadable));
  return { action: made, alreadyCompleted: false };
}

/** Only once no block can hold it any more is another made in its place. */
async function handOut(
  context: ActionContext,
  action: Action,
  owned: SignedTransaction,
  serviceFirst: boolean,
): Promise<Signed> {
  const live = (await isDead(context, owned)) ? await renew(context, action) : action;
  if (!serviceFirst) return { action: live, alreadyCompleted: false };
  const given = { at: context.now(), ownerFirst: false };
  await advance(context.sql, live, 'awaiting', given);
  return { action: await readAgain(context, action), alreadyCompleted: false };
}

/** Of one that was never sent: no block holds it. */
async function isDead({ chain }: ActionContext, { lastValidBlockHeight }: SignedTransaction) {
  const { height } = await chain.finalized().catch(chainFailureAs(chainUnreadable));
  return height > lastValidBlockHeight;
}

/**
 * No token is made for a name that is gone. The credits return once the transaction can no longer be sent: at once where
 * nobody but the service has its signatures.
 */
async function requireFree(context: ActionContext, action: Action, name: string): Promise<void> {
  const { record } = await context.registry.name(name).catch(chainFailureAs(chainUnreadable));
  if (record === undefined) return;
  const gone = nameExists(name);
  if (action.ownerFirst) await giveUp(context, action, 'failed', gone.message);
  throw gone;
}

/**
 * An action that ended without its effect is an error to its signer. `void`: what was signed never happens, and another can
 * be made in its place.
 */
async function completeOwned(
  context: ActionContext,
  action: Action,
  owned: SignedTransaction,
  time: 'first' | 'again',
): Promise<Signed | 'void'> {
  const after = await deliverOwned(context, action, owned, time).catch(chainFailureAs(chainUnreadable));
  if (after === 'void') return after;
  if (after.status === 'completed') return { action: after, alreadyCompleted: false };
  throw badRequest(after.failedReason ?? 'The action failed and was refunded');
}

function ownerOf({ request }: Action): SolanaAddress {
  if (!('owner' in request)) throw new Error('an action without an owner has nothing to sign');
  return request.owner;
}

/** Our copy with the owner's signature in its slot; refuses a message that is not ours bit for bit. */
function withSignature(action: Action, owned: SignedTransaction, text: unknown): SignedTransaction {
  const owner = ownerOf(action);
  if (typeof text !== 'string' || text.length === 0 || text.length > maxTransactionBase64) {
    throw badRequest('transaction must be the base64 wire transaction of the create call');
  }
  const given = parse(Buffer.from(text, 'base64'));
  const ours = parseTransaction(owned.wire);
  if (given === undefined || !given.messageBytes.equals(ours.messageBytes)) {
    throw badRequest(
      'transaction is not the one that was handed out: sign it without changing it' +
        (action.ownerFirst
          ? '. Where the wallet changes it, ask for it here with signOrder service-first and no transaction'
          : ''),
    );
  }
  const place = signersOf(ours.message).indexOf(owner);
  const signature = given.signatures[place];
  if (
    signature === undefined ||
    verifyMessage(2, addressBytes(owner), ours.messageBytes, signature) === undefined
  ) {
    throw badRequest("transaction does not carry the owner's signature");
  }
  const signatures = ours.signatures.map((own, index) => (index === place ? signature : own));
  return { ...owned, wire: serializeTransaction(signatures, ours.messageBytes) };
}

function parse(wire: Buffer): ReturnType<typeof parseTransaction> | undefined {
  try {
    return parseTransaction(wire);
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

/** Sends the owner's transaction and goes on from what became of it. */
async function deliverOwned(
  context: ActionContext,
  action: Action,
  owned: SignedTransaction,
  time: 'first' | 'again',
): Promise<Action | 'void'> {
  if (action.status === 'spawned') return registerName(context, action);
  const { programs } = context.registry;
  const delivery = await deliver(context.chain, owned, context.settings);
  const mayRenew = action.ownerFirst && context.now() <= action.expiresAt;
  switch (delivery.outcome) {
    case 'confirmed':
      return continueAfterOwner(context, action, owned);
    case 'failed':
      if (mayRenew && isMadeMeanwhile(delivery.err)) return 'void';
      return giveUp(context, action, 'failed', describeFailure(delivery, owned.wire, programs));
    // The owner may still send it, once what is in its way is gone: nothing is paid back before it is dead. Where the owner
    // signs first nobody else has it, and what no node took at the first try was never sent; later it is made anew when dead.
    case 'refused':
      if (mayRenew && isMadeMeanwhile(delivery.err)) {
        if (time === 'first') return 'void';
        throw chainUnreadable();
      }
      throw badRequest(describeFailure(delivery, owned.wire, programs));
    case 'expired': {
      if (mayRenew) return 'void';
      const reason = 'The signed transaction expired before it was submitted';
      throw signedTooLate((await giveUp(context, action, 'expired', reason)).status === 'expired');
    }
    case 'unknown':
      throw delivery.lagging ? notYetSeen() : chainUnreadable();
  }
}

/** The owner's transaction is on the chain: the end for most actions, half-way for a bought name. */
export async function continueAfterOwner(
  context: ActionContext,
  action: Action,
  owned: SignedTransaction,
): Promise<Action> {
  if (action.request.action !== 'buy-name') return complete(context, action, owned.signature);
  await advance(context.sql, action, 'spawned', { at: context.now() });
  return registerName(context, await readAgain(context, action));
}
