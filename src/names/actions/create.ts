/**
 * Creating an action (interface §4.2): who pays, whether the owner agrees, what the chain says, what it costs; then
 * the debit and the action are stored together, and only then anything is done.
 */
import { isDeepStrictEqual } from 'node:util';
import { InsufficientCredits } from '../../credits/credits.ts';
import { lackOf } from '../../credits/lack.ts';
import type { ClaimResult } from '../../credits/signatures/spent-signatures.ts';
import { isChainFailure } from '../../registry/errors.ts';
import { UniqueViolation } from '../../storage/sql/sql.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import {
  chainUnavailable,
  chainUnreadable,
  insufficientBalance,
  nonceOfAnother,
  nonceReplayed,
  tooManyOpenActions,
} from '../errors.ts';
import type { ActionRequest } from '../requests/action.ts';
import { type CheckedAction, checkAction } from './check-action.ts';
import type { ActionContext } from './context.ts';
import type { ProvenOwner } from './owner-proof.ts';
import { performAlone, prepare, settleAlone, subjectOf } from './perform.ts';
import { type Action, awaitingCountIn, findAction, findByPayerNonce, insertAction } from './store.ts';

interface CreateRequest {
  readonly request: ActionRequest;
  readonly payer: WalletAddress;
  /** The owner, where the action needs a proof. */
  readonly provenOwner: ProvenOwner | undefined;
  /** A UUID in lower case; the action is known by it. */
  readonly payerNonce: string;
  /** Whether the signatures are for this very request. */
  readonly claimed: { readonly payer: ClaimResult; readonly owner: ClaimResult };
  /** Normalised addresses to charge first, in order. */
  readonly paidBy: readonly string[];
  /** The owner signs before the service's signatures are given away. */
  readonly ownerFirst: boolean;
}

/** The action, and whether this very call made it. */
interface Created {
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
    if (isChainFailure(error)) throw chainUnavailable(error);
    throw error;
  }
}

/**
 * The same request again gets the same action, another one with its nonce is refused; so are anybody else's nonce, and
 * signatures that were shown for anything else.
 */
async function repeated(context: ActionContext, asked: CreateRequest): Promise<Created | undefined> {
  const { payer, payerNonce, claimed } = asked;
  const same = await findByPayerNonce(context.sql, payer.address, payerNonce);
  if (same !== undefined) {
    if (claimed.payer === 'another' || !isSame(asked.request, same.request)) throw nonceOfAnother();
    return { action: await resume(context, same), repeated: true };
  }
  if (claimed.payer === 'another') throw nonceOfAnother();
  if (claimed.payer === 'spent' || claimed.owner !== 'ours') throw nonceReplayed();
  if ((await findAction(context.sql, payerNonce)) !== undefined) throw nonceReplayed();
  return undefined;
}

/** As it would be stored: what is undefined is not there. */
function isSame(asked: ActionRequest, stored: ActionRequest): boolean {
  const written: unknown = JSON.parse(JSON.stringify(asked));
  return isDeepStrictEqual(written, stored);
}

/** A repeat of something that is still on its way waits for it: a client never signs what needs no signature. */
async function resume(context: ActionContext, action: Action): Promise<Action> {
  if (action.status === 'sending' && action.service !== undefined)
    return settleAlone(context, action, action.service, 'again');
  if (action.status === 'reserved') throw chainUnreadable();
  return action;
}

async function make(context: ActionContext, asked: CreateRequest): Promise<Created> {
  const { request } = asked;
  const check = () =>
    checkAction(context, {
      request,
      payer: asked.payer.address,
      provenOwner: asked.provenOwner?.address,
    });
  const checked = await check();
  const { owner } = checked.work.plan;
  const action = await debit(context, asked, checked);
  if (action === undefined) {
    const other = await repeated(context, asked);
    if (other === undefined) throw nonceReplayed();
    return other;
  }
  context.log.info(
    { nonce: action.nonce, action: request.action, winc: action.winc.toString() },
    'action created',
  );
  const planned = { work: checked.work, again: async () => (await check()).work };
  const done =
    owner === undefined
      ? await performAlone(context, action, checked.work.plan)
      : await prepare(context, action, planned, checked.firstWinc ?? 0n);
  return { action: done, repeated: false };
}

/** The action and its debit, both or none; undefined when another call was first. */
async function debit(
  context: ActionContext,
  asked: CreateRequest,
  checked: CheckedAction,
): Promise<Action | undefined> {
  const { payer, payerNonce, paidBy, request } = asked;
  const nonce = payerNonce;
  const at = context.now();
  const ownerSigns = checked.work.plan.owner !== undefined;
  const { maxOpen, lifeMs } = context.settings;
  try {
    await context.sql.transaction(async (tx) => {
      // Counted where the action is stored, one payer at a time: requests at once cannot pass the limit together.
      if (ownerSigns && (await awaitingCountIn(tx, payer.address)) >= maxOpen) {
        throw tooManyOpenActions(maxOpen);
      }
      const columns = {
        nonce,
        payer: payer.address,
        payer_type: payer.kind,
        payer_nonce: payerNonce,
        ant_id: checked.antId ?? null,
        winc: checked.winc.toString(),
        mtoken: checked.mtoken.toString(),
        token_winc: (checked.tokenWinc ?? 0n).toString(),
        before_state: checked.before === undefined ? null : JSON.stringify(checked.before),
        owner_signs: ownerSigns ? 1 : 0,
        owner_first: ownerSigns && asked.ownerFirst ? 1 : 0,
        expires_at: at + lifeMs,
      };
      await insertAction(tx, request, columns, at);
      await context.credits.within(tx).reserve({
        id: nonce,
        reason: 'arns_action',
        signer: payer.address,
        signerType: payer.kind,
        amount: checked.winc,
        paidBy,
      });
    });
  } catch (error) {
    if (error instanceof UniqueViolation) return undefined;
    if (error instanceof InsufficientCredits) {
      const { credits, topUpPage } = context;
      const lack = await lackOf(credits, payer.address, checked.winc, topUpPage);
      throw insufficientBalance(payer.address, lack);
    }
    throw error;
  }
  return findAction(context.sql, nonce);
}
