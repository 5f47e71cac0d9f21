/** Doing what an action asks: by the service alone, or as far as the owner's signature. */
import { setTimeout as sleep } from 'node:timers/promises';
import { maxTransactionBytes } from '../../formats/solana/transaction.ts';
import { isChainFailure } from '../../registry/errors.ts';
import type { AntState } from '../../registry/name-registry.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { UserAcl } from '../chain/acl.ts';
import { deliver } from '../chain/delivery.ts';
import { buildersFor, type Plan, type SignedTransaction, signNow } from '../chain/plan.ts';
import { registryPlan, type Spawn, spawnPlan, traitsPlan } from '../chain/plan-purchase.ts';
import { addControllerPlan, removeControllerPlan, transferPlan } from '../chain/plan-token.ts';
import { describeFailure, isMadeMeanwhile } from '../chain/program-failure.ts';
import { freshKey } from '../chain/service-key.ts';
import {
  badRequest,
  chainFailureAs,
  chainUnavailable,
  chainUnreadable,
  NamesError,
  notYourToken,
  stillBusy,
} from '../errors.ts';
import { LockLost, LockTimeout } from '../locks.ts';
import { custodialPayer } from '../receipts.ts';
import type { ActionRequest, BuyRequest, RecordRequest, TokenRequest } from '../requests/action.ts';
import type { ActionContext } from './context.ts';
import { complete, giveUp, isEffectOnChain, readAgain } from './finish.ts';
import { type Action, advance } from './store.ts';
import { openRoom, reserveRoom, serviceList } from './token-lists.ts';

/** A plan, and what it means for its owner. */
export interface Work {
  readonly plan: Plan;
  /** The owner's list must be made first; it stays if the owner then does not sign. */
  readonly firstForOwner?: boolean;
  readonly antId?: string;
}

/** What is to be done, and the same read and planned again. */
export interface Planned {
  readonly work: Work;
  readonly again: () => Promise<Work>;
}

const mostPlans = 4;
/** A node may not show yet what another has confirmed. */
const planPauseMs = 150;

/** What no two may read and act on at the same time: the key of its lock. */
export function subjectOf(request: ActionRequest): string {
  return 'name' in request ? `name ${request.name}` : `ant ${request.antId}`;
}

/** Sends what the service alone may do; ends completed, or refunded with the error that says why. */
export async function performAlone(context: ActionContext, action: Action, plan: Plan): Promise<Action> {
  const transaction = await signNow(context, plan).catch((error: unknown) => abandon(context, action, error));
  const isNext = await store(context, action, 'sending', { service: transaction });
  // It was ended in the meantime, and its credits were returned: nothing may be sent any more.
  if (!isNext) throw stillBusy();
  return settleAlone(context, { ...action, status: 'sending', service: transaction }, transaction, 'first');
}

/**
 * Stores what is about to be sent or handed out, unless the action was ended, its subject went to another process, or
 * the token that it hands over was taken back from its buyer.
 */
async function store(
  context: ActionContext,
  action: Action,
  to: 'sending' | 'awaiting',
  changes: Omit<Parameters<typeof advance>[3], 'at'>,
): Promise<boolean> {
  const at = context.now();
  try {
    return await context.sql.transaction(async (tx) => {
      await context.locks.fence(tx, subjectOf(action.request));
      if (to === 'sending') await requireCustody(tx, action);
      return advance(tx, action, to, { at, ...changes });
    });
  } catch (error) {
    if (!(error instanceof LockLost || error instanceof NamesError)) throw error;
    return abandon(context, action, error);
  }
}

/** Only tokens in custody are transferred by the service alone. */
async function requireCustody(tx: SqlExecutor, { request, payer }: Action): Promise<void> {
  if (request.action !== 'transfer') return;
  if ((await custodialPayer(tx, request.antId)) !== payer) throw notYourToken();
}

/**
 * Waits for the service's transaction and ends the action by what became of it. One that a node refuses at its first
 * try was never sent; later the refusal may come from its own effect, and is left for the reconciler to judge.
 */
export async function settleAlone(
  context: ActionContext,
  action: Action,
  transaction: SignedTransaction,
  time: 'first' | 'again',
): Promise<Action> {
  const delivery = await deliver(context.chain, transaction, context.settings);
  if (delivery.outcome === 'confirmed') {
    refreshTraits(context, action);
    return complete(context, action, transaction.signature);
  }
  if (delivery.outcome === 'unknown') throw chainUnreadable();
  if (delivery.outcome === 'refused' && time === 'again') throw chainUnreadable();
  if (delivery.outcome === 'expired') {
    if (await isDone(context, action)) return complete(context, action, transaction.signature);
    await giveUp(context, action, 'failed', 'The transaction did not land in time');
    throw chainUnavailable();
  }
  const failure = describeFailure(delivery, transaction.wire, context.registry.programs);
  await giveUp(context, action, 'failed', failure);
  throw badRequest(failure);
}

/** Hands the owner a transaction that the chain would take now. `firstWinc`: what of the price pays for the owner's list. */
export async function prepare(
  context: ActionContext,
  action: Action,
  planned: Planned,
  firstWinc: bigint,
): Promise<Action> {
  try {
    await store(context, action, 'awaiting', await forOwner(context, action, planned, firstWinc));
    return await readAgain(context, action);
  } catch (error) {
    return abandon(context, action, error);
  }
}

/**
 * What the owner is to sign, which the chain would take now. Throws 400 with the chain's reason where it would not. Several
 * actions at once may each make the list of a wallet that has none: whoever comes later is planned again without.
 */
export async function forOwner(
  context: ActionContext,
  action: Action,
  { work, again }: Planned,
  firstWinc: bigint,
): Promise<{ readonly owned: SignedTransaction; readonly antId?: string }> {
  const { chain, planner } = context;
  const { request } = action;
  for (let plans = 1; ; plans += 1) {
    const { plan, antId } =
      request.action === 'buy-name'
        ? await spawnForOwner(context, action, request, firstWinc)
        : plans === 1
          ? work
          : await again();
    if (plan.owner === undefined) throw badRequest('It no longer needs the signature of the owner');
    const draft = planner.sign(plan, '11111111111111111111111111111111', 0);
    const simulation = await chain.simulate(draft.wire);
    if (simulation.err === null) {
      return { owned: await signNow(context, plan), ...(antId !== undefined && { antId }) };
    }
    if (plans === mostPlans || !isMadeMeanwhile(simulation.err)) {
      throw badRequest(describeFailure(simulation, draft.wire, context.registry.programs));
    }
    await sleep(planPauseMs);
  }
}

/** Nothing was handed out or sent: the debit goes back before the error is answered. */
async function abandon(context: ActionContext, action: Action, error: unknown): Promise<never> {
  const unavailable = isChainFailure(error);
  await giveUp(context, action, 'failed', reasonOf(error));
  if (error instanceof LockTimeout || error instanceof LockLost) throw stillBusy();
  throw unavailable ? chainUnavailable(error) : error;
}

function reasonOf(error: unknown): string {
  if (isChainFailure(error)) return 'The name chain was unavailable';
  return error instanceof NamesError && error.status === 400
    ? error.message
    : 'The action could not be prepared';
}

const isDone = (context: ActionContext, action: Action): Promise<boolean> =>
  isEffectOnChain(context.registry, action).catch(chainFailureAs(chainUnreadable));

/** The sponsored mint of a bought name, measured: too large is refused with what would help. */
export async function spawnWork(context: ActionContext, request: BuyRequest): Promise<Work> {
  const build = await context.builders();
  const users = [request.owner, build.service];
  const [ownerAcl, serviceAcl] = await UserAcl.readAll(context.chain, build.programs, users);
  if (ownerAcl === undefined || serviceAcl === undefined) throw new Error('every user has a list');
  const owner = ownerAcl.room(build.ant, build.service);
  const service = serviceAcl.room(build.ant, build.service);
  const spawn = newSpawn(context, request);
  const together = spawnPlan(build, spawn, { owner, service });
  if (context.planner.fits(together)) return { plan: together };
  const plan = spawnPlan(build, spawn, { owner: { ...owner, prepare: [] }, service });
  const size = context.planner.measure(plan);
  if (size > maxTransactionBytes) throw openingTooLarge(size);
  return { plan, firstForOwner: true };
}

/** The same with a place of the service's own list kept for it, and with the owner's list made where it does not fit in. */
async function spawnForOwner(
  context: ActionContext,
  action: Action,
  request: BuyRequest,
  firstWinc: bigint,
): Promise<Work> {
  const { chain, planner, sql, locks } = context;
  const build = await context.builders();
  const service = await reserveRoom(context, async (room) => {
    await sql.transaction(async (tx) => {
      await locks.fence(tx, serviceList);
      await changeOne(
        tx,
        'UPDATE arns_action SET list_page = ? WHERE nonce = ?',
        Number(room.place.page),
        action.nonce,
      );
    });
    return room;
  });
  const spawn = newSpawn(context, request);
  const ownerAcl = await UserAcl.read(chain, build.programs, request.owner);
  const owner = ownerAcl.room(build.ant, build.service);
  const antId = spawn.asset.address;
  const together = spawnPlan(build, spawn, { owner, service });
  if (planner.fits(together)) return { plan: together, antId };
  const ready = await openRoom(context, request.owner);
  if (ready.made && action.status === 'reserved')
    await advance(sql, action, 'reserved', { at: context.now(), keptWinc: firstWinc });
  return { plan: spawnPlan(build, spawn, { owner: ready.room, service }), antId };
}

function newSpawn(context: ActionContext, { name, owner, opening }: BuyRequest): Spawn {
  return { name, asset: freshKey(), owner, opening, defaultTarget: context.settings.defaultTarget };
}

function openingTooLarge(size: number): NamesError {
  return badRequest(
    `antState does not fit: the transaction is ${size} bytes, ${size - maxTransactionBytes} over Solana's ` +
      `${maxTransactionBytes}-byte limit. Shorten description, keywords or logo, or set them later.`,
  );
}

/** Controllers and transfers: the lists of everybody concerned are read first. */
export async function authorityWork(
  context: ActionContext,
  request: Exclude<TokenRequest, RecordRequest>,
  ant: AntState,
): Promise<Work> {
  const build = buildersFor(await context.builders(), ant.program);
  const { action } = request;
  const others = action === 'transfer' ? ant.controllers.filter((user) => user !== ant.owner) : [];
  const users = [request.target, ant.owner, ...others];
  const [target, from, ...rest] = await UserAcl.readAll(context.chain, build.programs, users);
  if (target === undefined || from === undefined) throw new Error('every user has a list');
  if (action === 'add-controller') return { plan: addControllerPlan(build, ant, target) };
  if (action === 'remove-controller') return { plan: removeControllerPlan(build, ant, target) };
  const lists = { from, to: target, controllers: [from, ...rest] };
  const tidy = transferPlan(build, ant, lists, true);
  return { plan: context.planner.fits(tidy) ? tidy : transferPlan(build, ant, lists, false) };
}

/** Registers a name whose token exists: the service alone pays, as often as it takes until the deadline. */
export async function registerName(context: ActionContext, action: Action): Promise<Action> {
  const { request, antId } = action;
  if (request.action !== 'buy-name' || antId === null) throw new Error('not a purchase of a name');
  if (action.status !== 'spawned') return action;
  const build = await context.builders();
  const { record } = await context.registry.name(request.name);
  if (record !== undefined) {
    if (record.ant === antId)
      return complete(context, action, action.service?.signature ?? action.owned?.signature ?? '');
    return lostName(context, action, request.name);
  }
  const transaction = await signNow(context, registryPlan(build, request, antId));
  const at = context.now();
  if (!(await advance(context.sql, action, 'spawned', { at, service: transaction })))
    return readAgain(context, action);
  const sent = { ...action, service: transaction };
  const delivery = await deliver(context.chain, transaction, context.settings);
  if (delivery.outcome === 'unknown') throw chainUnreadable();
  if (delivery.outcome === 'confirmed' || (await isDone(context, action))) {
    context.later(() => writeTraits(context, antId, request.name));
    return complete(context, action, transaction.signature);
  }
  if (delivery.outcome === 'expired') throw chainUnavailable();
  const after = await context.registry.name(request.name);
  if (after.record !== undefined) return lostName(context, sent, request.name);
  const failure = describeFailure(delivery, transaction.wire, build.programs);
  return giveUp(context, sent, 'failed', failure);
}

/** The name went to somebody else; the token is made, and its owner has and pays it. */
function lostName(context: ActionContext, action: Action, name: string): Promise<Action> {
  return giveUp(context, action, 'failed', `Name ${name} already exists`, action.tokenWinc);
}

/** A name that became permanent or wider says so in its token's traits. */
function refreshTraits(context: ActionContext, { request, before }: Action): void {
  const changes = request.action === 'upgrade-name' || request.action === 'increase-undername-limit';
  if (changes && before !== undefined) context.later(() => writeTraits(context, before.ant, request.name));
}

/** For marketplaces only: a token without them resolves all the same, so a failure is merely noted. */
async function writeTraits(
  context: ActionContext,
  antId: NonNullable<Action['antId']>,
  name: string,
): Promise<void> {
  try {
    const build = buildersFor(await context.builders(), await context.registry.antProgram(antId));
    const transaction = await signNow(context, traitsPlan(build, antId, name));
    const delivery = await deliver(context.chain, transaction, context.settings);
    if (delivery.outcome !== 'confirmed')
      context.log.warn({ antId, name, delivery }, 'traits were not written');
  } catch (error) {
    context.log.warn({ err: error, antId, name }, 'traits were not written');
  }
}
