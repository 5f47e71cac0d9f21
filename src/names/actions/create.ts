/**
 * Creating an action (interface §4.2): who pays, whether the owner agrees, what the chain says, what it costs; then
 * the debit and the action are stored together, and only then anything is done.
 */
import { isDeepStrictEqual } from 'node:util';
import { InsufficientCredits, type Winc, winc } from '../../credits/credits.ts';
import { lackOf } from '../../credits/lack.ts';
import type { ClaimResult } from '../../credits/signatures/spent-signatures.ts';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { maxControllers } from '../../formats/solana/accounts-ant.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { isChainFailure } from '../../registry/errors.ts';
import type { AntState } from '../../registry/name-registry.ts';
import { UniqueViolation } from '../../storage/sql/sql.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import { registryPlan } from '../chain/plan-purchase.ts';
import { recordPlan } from '../chain/plan-token.ts';
import {
  antNotFound,
  badRequest,
  chainUnavailable,
  chainUnreadable,
  insufficientBalance,
  nameInAuction,
  nonceOfAnother,
  nonceReplayed,
  notYourToken,
  signatureRequired,
  tooManyOpenActions,
  unboundSignature,
} from '../errors.ts';
import { aclRent } from '../prices/lamports.ts';
import { lamportWinc } from '../prices/prices.ts';
import { custodialPayer } from '../receipts.ts';
import {
  type ActionRequest,
  type BuyRequest,
  isRecordRequest,
  type RecordRequest,
  type TokenRequest,
} from '../requests/action.ts';
import type { ActionContext } from './context.ts';
import { requireSettled } from './finish.ts';
import type { ProvenOwner } from './owner-proof.ts';
import {
  authorityWork,
  performAlone,
  prepare,
  settleAlone,
  spawnWork,
  subjectOf,
  type Work,
} from './perform.ts';
import { requireSponsor, sponsorTokens } from './sponsor.ts';
import {
  type Action,
  awaitingCountIn,
  type BeforeState,
  beforeOf,
  findAction,
  findByPayerNonce,
  insertAction,
} from './store.ts';

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
  const checked = await checkAction(context, asked);
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
  const done =
    owner === undefined
      ? await performAlone(context, action, checked.work.plan)
      : await prepare(context, action, checked.work, checked.firstWinc ?? 0n);
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

/** What is known before the debit. */
interface CheckedAction {
  readonly winc: Winc;
  readonly mtoken: bigint;
  readonly work: Work;
  /** The parts of `winc` that pay for making a token, and for what must be made before its owner signs. */
  readonly tokenWinc?: Winc;
  readonly firstWinc?: Winc;
  readonly before?: BeforeState;
  readonly antId?: SolanaAddress;
}

/**
 * What the chain says, whether the owner agrees, what it costs. Throws the answer where the action cannot be done, or
 * not by this payer.
 */
function checkAction(context: ActionContext, asked: CreateRequest): Promise<CheckedAction> {
  const { request } = asked;
  if (request.action === 'buy-name') return checkBuy(context, request);
  if ('name' in request) return checkPaidFor(context, request);
  if (isRecordRequest(request)) return checkRecord(context, request, asked.provenOwner);
  return checkAuthority(context, request, asked.payer.address);
}

async function checkBuy(context: ActionContext, request: BuyRequest): Promise<CheckedAction> {
  if (request.owner === context.key.address) throw badRequest('ownerAddress must not be the service itself');
  const [price, tokens, work] = await Promise.allSettled([
    context.prices.name(request),
    sponsorTokens(context),
    spawnWork(context, request),
  ]);
  // The first that fails, in this order, is answered.
  const { total, surcharge = winc(0n), mtoken, state, rates } = resultOf(price);
  if (state.returned !== undefined) throw nameInAuction(request.name);
  requireSponsor(resultOf(tokens), mtoken);
  const checked = { winc: total, mtoken, work: resultOf(work), tokenWinc: surcharge };
  if (checked.work.firstForOwner !== true) return checked;
  const list = lamportWinc(aclRent, rates);
  return { ...checked, firstWinc: list < surcharge ? list : surcharge };
}

function resultOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

/** Extending, widening and making permanent: what stands before is stored, to tell the effect from another's. */
async function checkPaidFor(
  context: ActionContext,
  request: Exclude<ActionRequest, BuyRequest | TokenRequest>,
): Promise<CheckedAction> {
  await requireSettled(context, { name: request.name });
  const [price, tokens] = await Promise.all([context.prices.name(request), sponsorTokens(context)]);
  const { record } = price.state;
  if (record === undefined) throw chainUnavailable();
  requireSponsor(tokens, price.mtoken);
  return {
    winc: price.total,
    mtoken: price.mtoken,
    before: beforeOf(record),
    antId: record.ant,
    work: { plan: registryPlan(await context.builders(), request, null) },
  };
}

async function checkRecord(
  context: ActionContext,
  request: RecordRequest,
  proven: ProvenOwner | undefined,
): Promise<CheckedAction> {
  if (proven === undefined) throw signatureRequired();
  await requireSettled(context, { antId: request.antId });
  const undername = asciiLowerCase(request.undername);
  const state = await context.registry.antRecord(request.antId, undername);
  if (state === undefined) throw antNotFound(request.antId);
  const { ant, record, metadata } = state;
  if (proven.address !== ant.owner || request.owner !== ant.owner) throw unboundSignature();
  if (record === undefined && request.action !== 'set-record') {
    throw badRequest(`The ANT has no record ${undername}`);
  }
  if (metadata === undefined && request.action === 'remove-record-metadata') {
    throw badRequest(`The record ${undername} has no metadata`);
  }
  if (request.action === 'transfer-record' && record?.owner === request.target) {
    throw badRequest(`The record ${undername} has this owner already`);
  }
  return {
    winc: await context.prices.action(request.action),
    mtoken: 0n,
    antId: ant.asset,
    work: { plan: recordPlan(await context.builders(), request, state) },
  };
}

/** Controllers and transfers are the owner's alone; for a token the service holds, its buyer's. */
async function checkAuthority(
  context: ActionContext,
  request: Exclude<TokenRequest, RecordRequest>,
  payer: string,
): Promise<CheckedAction> {
  const ant = await context.registry.ant(request.antId);
  if (ant === undefined) throw antNotFound(request.antId);
  const held = ant.owner === context.key.address;
  if (held) {
    if (request.action !== 'transfer' || (await custodialPayer(context.sql, ant.asset)) !== payer) {
      throw notYourToken();
    }
  } else if (request.owner !== ant.owner) {
    throw badRequest(`ownerAddress does not own ANT ${ant.asset}`);
  }
  checkControllers(request, ant);
  return {
    winc: await context.prices.action(request.action),
    mtoken: 0n,
    antId: ant.asset,
    work: await authorityWork(context, request, ant),
  };
}

function checkControllers({ action, target }: Exclude<TokenRequest, RecordRequest>, ant: AntState): void {
  const listed = ant.controllers.includes(target);
  if (action === 'add-controller') {
    if (listed) throw badRequest(`${target} is a controller already`);
    if (ant.controllers.length >= maxControllers) {
      throw badRequest(`An ANT has at most ${maxControllers} controllers: remove one first`);
    }
  }
  if (action === 'remove-controller' && !listed) throw badRequest(`${target} is not a controller`);
}
