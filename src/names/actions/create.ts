/**
 * Creating an action (interface §4.2): who pays, whether the owner agrees, what the chain says, what it costs; then
 * the debit and the action are stored together, and only then anything is done.
 */
import { randomUUID } from 'node:crypto';
import { InsufficientCredits, type Winc } from '../../credits/credits.ts';
import { maxControllers } from '../../formats/solana/accounts-ant.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { associatedTokenAddress, decodeTokenAccount, tokenAccountSize } from '../../formats/solana/token.ts';
import { ChainRefused, ChainUnavailable } from '../../registry/errors.ts';
import type { AntState } from '../../registry/name-registry.ts';
import { UniqueViolation } from '../../storage/sql/sql.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import { registryPlan } from '../chain/plan-purchase.ts';
import {
  antNotFound,
  badRequest,
  chainUnavailable,
  chainUnreadable,
  insufficientBalance,
  NamesError,
  nameInAuction,
  nonceReplayed,
  signatureRequired,
  tooManyOpenActions,
  unboundSignature,
} from '../errors.ts';
import { custodialPayer } from '../receipts.ts';
import {
  type ActionRequest,
  type BuyRequest,
  isRecordRequest,
  type RecordRequest,
  type TokenRequest,
} from './action.ts';
import type { ActionContext } from './context.ts';
import { type OwnerProof, verifyOwnerProof } from './owner-proof.ts';
import {
  authorityWork,
  performAlone,
  prepare,
  recordWork,
  requireSponsor,
  settleAlone,
  spawnWork,
  type Work,
} from './perform.ts';
import { type Action, type BeforeState, insertAction } from './store.ts';

export interface CreateRequest {
  readonly request: ActionRequest;
  readonly payer: WalletAddress;
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

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export async function createAction(context: ActionContext, asked: CreateRequest): Promise<Created> {
  const before = await repeated(context, asked);
  if (before !== undefined) return before;
  const { request } = asked;
  try {
    const subject = 'name' in request ? `name ${request.name}` : `ant ${request.antId}`;
    return await context.locks.hold(
      subject,
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
    return settleAlone(context, action, action.service);
  if (action.status === 'reserved') throw chainUnreadable();
  return action;
}

export function payerKey(address: string): string {
  return `payer:${address}`;
}

/** What is known before the debit. */
interface Ready {
  readonly winc: Winc;
  readonly mtoken: bigint;
  readonly work: Work;
  readonly before?: BeforeState;
  readonly antId?: SolanaAddress;
  /** Whose nonce is used up with the debit. */
  readonly ownerNonce?: { readonly signer: string; readonly nonce: string };
}

async function make(context: ActionContext, asked: CreateRequest): Promise<Created> {
  const { request } = asked;
  const ready = await getReady(context, asked);
  const { owner } = ready.work.plan;
  if (owner !== undefined) {
    const { maxOpen } = context.settings;
    if ((await context.store.awaitingCount(asked.payer.address, owner)) >= maxOpen)
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
      : await prepare(context, action, ready.work);
  return { action: done, repeated: false };
}

function getReady(context: ActionContext, asked: CreateRequest): Promise<Ready> {
  const { request } = asked;
  if (request.action === 'buy-name') return readyToBuy(context, request);
  if ('name' in request) return readyToPay(context, request);
  if (isRecordRequest(request)) return readyToWrite(context, request, asked.proof);
  return readyToGovern(context, request, asked.payer.address);
}

async function readyToBuy(context: ActionContext, request: BuyRequest): Promise<Ready> {
  const [price, tokens, work] = await Promise.allSettled([
    context.prices.name(request),
    sponsorTokens(context),
    spawnWork(context, request),
  ]);
  // The first of them that fails is the one that is told.
  const { total, mtoken, state } = resultOf(price);
  if (state.returned !== undefined) throw nameInAuction(request.name);
  requireSponsor(resultOf(tokens), mtoken);
  return { winc: total, mtoken, work: resultOf(work) };
}

function resultOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

/** Extending, widening and making permanent: what stands before is kept, to know the effect from another's. */
async function readyToPay(
  context: ActionContext,
  request: Exclude<ActionRequest, BuyRequest | TokenRequest>,
): Promise<Ready> {
  const [price, tokens] = await Promise.all([context.prices.name(request), sponsorTokens(context)]);
  const { record } = price.state;
  if (record === undefined) throw chainUnavailable();
  requireSponsor(tokens, price.mtoken);
  const { ant, type, end, undernameLimit } = record;
  return {
    winc: price.total,
    mtoken: price.mtoken,
    before: { ant, type, end: end ?? null, undernameLimit },
    antId: ant,
    work: { plan: registryPlan(await context.builders(), request, undefined) },
  };
}

async function readyToWrite(
  context: ActionContext,
  request: RecordRequest,
  proof: OwnerProof | undefined,
): Promise<Ready> {
  if (proof === undefined) throw signatureRequired();
  const signer = verifyOwnerProof(request, proof);
  const undername = request.undername.toLowerCase();
  const state = await context.registry.antRecord(request.antId, undername);
  if (state === undefined) throw antNotFound(request.antId);
  const { ant, record, metadata } = state;
  if (signer !== ant.owner || request.owner !== ant.owner) throw unboundSignature();
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
    work: await recordWork(context, request, state),
    ownerNonce: { signer: `owner:${signer}`, nonce: proof.nonce },
  };
}

/** Controllers and transfers are the owner's alone; for a token the service holds, its buyer's. */
async function readyToGovern(
  context: ActionContext,
  request: Exclude<TokenRequest, RecordRequest>,
  payer: string,
): Promise<Ready> {
  const ant = await readAnt(context, request.antId);
  const held = ant.owner === context.key.address;
  if (held) {
    if (request.action !== 'transfer' || (await custodialPayer(context.sql, ant.asset)) !== payer) {
      throw badRequest('This ANT is held by the service: only its buyer may transfer it');
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

async function readAnt(context: ActionContext, antId: SolanaAddress): Promise<AntState> {
  const ant = await context.registry.ant(antId);
  if (ant === undefined) throw antNotFound(antId);
  return ant;
}

/** What the service has of the token that names are paid in. */
export async function sponsorTokens(
  context: Pick<ActionContext, 'chain' | 'registry' | 'key'>,
): Promise<bigint> {
  const { mint } = context.registry.programs;
  const account = await context.chain.account(associatedTokenAddress(context.key.address, mint));
  return account?.data.length === tokenAccountSize ? decodeTokenAccount(account.data).amount : 0n;
}

/** The action, its debit and the nonces it uses up, all or none; undefined when another call was first. */
async function debit(
  context: ActionContext,
  asked: CreateRequest,
  ready: Ready,
): Promise<Action | undefined> {
  const { payer, payerNonce, paidBy, request } = asked;
  const nonce = uuid.test(payerNonce) ? payerNonce : randomUUID();
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
