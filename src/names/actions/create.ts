/**
 * Creating an action (interface §4.2): who pays, whether the owner agrees, what the chain says, what it costs; then
 * the debit and the action are stored together, and only then anything is done.
 */
import { InsufficientCredits } from '../../credits/credits.ts';
import { ChainRefused, ChainUnavailable } from '../../registry/errors.ts';
import { UniqueViolation } from '../../storage/sql/sql.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import {
  chainUnavailable,
  chainUnreadable,
  insufficientBalance,
  NamesError,
  nonceReplayed,
  tooManyOpenActions,
} from '../errors.ts';
import type { ActionRequest } from './action.ts';
import type { ActionContext } from './context.ts';
import { getReady, type Ready } from './get-ready.ts';
import type { OwnerProof } from './owner-proof.ts';
import { performAlone, prepare, settleAlone, subjectOf } from './perform.ts';
import { type Action, insertAction } from './store.ts';

export interface CreateRequest {
  readonly request: ActionRequest;
  readonly payer: WalletAddress;
  /** A UUID; the action is known by it. */
  readonly payerNonce: string;
  /** Normalised addresses to charge first, in order. */
  readonly paidBy: readonly string[];
  readonly proof: OwnerProof | undefined;
}

/** The action, and whether this very call made it. */
export interface Created {
  readonly action: Action;
  readonly repeated: boolean;
}

export async function createAction(context: ActionContext, asked: CreateRequest): Promise<Created> {
  const before = await repeated(context, asked);
  if (before !== undefined) return before;
  const { request } = asked;
  try {
    return await context.locks.hold(
      subjectOf(request),
      async () => (await repeated(context, asked)) ?? make(context, asked),
    );
  } catch (error) {
    if (error instanceof NamesError && error.status === 401) {
      // The nonce may have been used up a moment ago by the same request, sent twice.
      const same = await context.store.byPayerNonce(asked.payer.address, asked.payerNonce);
      if (same !== undefined) return { action: await resumed(context, same), repeated: true };
    }
    if (error instanceof ChainUnavailable || error instanceof ChainRefused) throw chainUnavailable(error);
    if (error instanceof InsufficientCredits) throw insufficientBalance(error.address);
    throw error;
  }
}

/** The same payer with the same nonce gets the same action; anybody else's nonce is refused. */
async function repeated(context: ActionContext, asked: CreateRequest): Promise<Created | undefined> {
  const { payer, payerNonce } = asked;
  const same = await context.store.byPayerNonce(payer.address, payerNonce);
  if (same !== undefined) return { action: await resumed(context, same), repeated: true };
  if ((await context.store.byNonce(payerNonce)) !== undefined) throw nonceReplayed();
  if (await context.nonces.isSpent(payerKey(payer.address), payerNonce)) throw nonceReplayed();
  return undefined;
}

/** A repeat of something that is still on its way waits for it, so that it is never told to sign what needs none. */
async function resumed(context: ActionContext, action: Action): Promise<Action> {
  if (action.status === 'sending' && action.service !== undefined)
    return settleAlone(context, action, action.service, 'again');
  if (action.status === 'reserved') throw chainUnreadable();
  return action;
}

export function payerKey(address: string): string {
  return `payer:${address}`;
}

async function make(context: ActionContext, asked: CreateRequest): Promise<Created> {
  const { request } = asked;
  const ready = await getReady(context, asked);
  const { owner } = ready.work.plan;
  if (owner !== undefined) {
    const { maxOpen } = context.settings;
    if ((await context.store.awaitingCount(asked.payer.address)) >= maxOpen)
      throw tooManyOpenActions(maxOpen);
  }
  const action = await debit(context, asked, ready);
  if (action === undefined) {
    const other = await repeated(context, asked);
    if (other === undefined) throw nonceReplayed();
    return other;
  }
  context.log.info(
    { nonce: action.nonce, action: request.action, winc: action.winc.toString() },
    'action created',
  );
  const done =
    owner === undefined
      ? await performAlone(context, action, ready.work.plan)
      : await prepare(context, action, ready.work, ready.firstWinc ?? 0n);
  return { action: done, repeated: false };
}

/** The action, its debit and the nonces it uses up, all or none; undefined when another call was first. */
async function debit(
  context: ActionContext,
  asked: CreateRequest,
  ready: Ready,
): Promise<Action | undefined> {
  const { payer, payerNonce, paidBy, request } = asked;
  const nonce = payerNonce;
  const at = context.now();
  try {
    await context.sql.transaction(async (tx) => {
      if (ready.ownerNonce) await context.nonces.spendIn(tx, ready.ownerNonce.signer, ready.ownerNonce.nonce);
      await context.nonces.spendIn(tx, payerKey(payer.address), payerNonce);
      await insertAction(tx, {
        nonce,
        payer: payer.address,
        payerType: payer.kind,
        payerNonce,
        request,
        antId: ready.antId,
        winc: ready.winc,
        mtoken: ready.mtoken,
        tokenWinc: ready.tokenWinc ?? 0n,
        before: ready.before,
        expiresAt: at + context.settings.lifeMs,
        createdAt: at,
      });
      await context.credits.within(tx).reserve({
        id: nonce,
        reason: 'arns_action',
        signer: payer.address,
        signerType: payer.kind,
        amount: ready.winc,
        paidBy,
      });
    });
  } catch (error) {
    if (error instanceof UniqueViolation) return undefined;
    throw error;
  }
  return context.store.byNonce(nonce);
}
