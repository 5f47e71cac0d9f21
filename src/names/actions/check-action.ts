/** What is known of an action before anything is done for it: what the chain says, who may ask for it, what it costs. */
import { type Winc, winc } from '../../credits/credits.ts';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { maxControllers } from '../../formats/solana/accounts-ant.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import type { AntState } from '../../registry/name-registry.ts';
import { buildersFor } from '../chain/plan.ts';
import { registryPlan } from '../chain/plan-purchase.ts';
import { recordPlan } from '../chain/plan-token.ts';
import { learnSlot } from '../chain/shared-slot.ts';
import {
  antNotFound,
  badRequest,
  chainUnavailable,
  nameInAuction,
  notYourToken,
  signatureRequired,
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
import { authorityWork, spawnWork, type Work } from './perform.ts';
import { requireSponsor, sponsorTokens } from './sponsor.ts';
import { type BeforeState, beforeOf } from './store.ts';

/** What is known before the debit. */
export interface CheckedAction {
  readonly winc: Winc;
  readonly mtoken: bigint;
  readonly work: Work;
  /** The parts of `winc` that pay for making a token, and for what must be made before its owner signs. */
  readonly tokenWinc?: Winc;
  readonly firstWinc?: Winc;
  readonly before?: BeforeState;
  readonly antId?: SolanaAddress;
}

interface AskedAction {
  readonly request: ActionRequest;
  /** The address of whoever pays. */
  readonly payer: string;
  /** The owner, where the action needs a proof. */
  readonly provenOwner: SolanaAddress | undefined;
}

/**
 * What the chain says, whether the owner agrees, what it costs. Throws the answer where the action cannot be done, or
 * not by this payer.
 */
export function checkAction(
  context: ActionContext,
  { request, payer, provenOwner }: AskedAction,
): Promise<CheckedAction> {
  if (request.action === 'buy-name') return checkBuy(context, request);
  if ('name' in request) return checkPaidFor(context, request);
  if (isRecordRequest(request)) return checkRecord(context, request, provenOwner);
  return checkAuthority(context, request, payer);
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
  proven: SolanaAddress | undefined,
): Promise<CheckedAction> {
  if (proven === undefined) throw signatureRequired();
  await requireSettled(context, { antId: request.antId });
  const undername = asciiLowerCase(request.undername);
  const state = await context.registry.antRecord(request.antId, undername);
  if (state === undefined) throw antNotFound(request.antId);
  const { ant, record, metadata } = state;
  if (proven !== ant.owner || request.owner !== ant.owner) throw unboundSignature();
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
    work: { plan: recordPlan(buildersFor(await context.builders(), ant.program), request, state) },
  };
}

/** Controllers and transfers are the owner's alone; for a token the service holds, its buyer's. */
async function checkAuthority(
  context: ActionContext,
  request: Exclude<TokenRequest, RecordRequest>,
  payer: string,
): Promise<CheckedAction> {
  await learnSlot(context);
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
