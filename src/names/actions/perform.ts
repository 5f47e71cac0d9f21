/** Doing what an action asks: by the service alone, or as far as the owner's signature. */
import { maxTransactionBytes } from '../../formats/solana/transaction.ts';
import { ChainRefused, ChainUnavailable } from '../../registry/errors.ts';
import type { AntRecordState, AntState } from '../../registry/name-registry.ts';
import { UserAcl } from '../chain/acl.ts';
import { deliver, type SignedTransaction } from '../chain/delivery.ts';
import type { Plan } from '../chain/plan.ts';
import { registryPlan, type Spawn, spawnPlan, traitsPlan } from '../chain/plan-purchase.ts';
import { addControllerPlan, recordPlan, removeControllerPlan, transferPlan } from '../chain/plan-token.ts';
import { describeFailure } from '../chain/program-failure.ts';
import { freshKey } from '../chain/service-key.ts';
import { badRequest, chainUnavailable, chainUnreadable, type NamesError, sponsorEmpty } from '../errors.ts';
import type { BuyRequest, RecordRequest, TokenRequest } from './action.ts';
import type { ActionContext } from './context.ts';
import { effectShows } from './effect.ts';
import { complete, current, giveUp } from './finish.ts';
import { type Action, advance } from './store.ts';

/** A plan, and what makes it ready to be signed. */
export interface Work {
  readonly plan: Plan;
  /** The service's own transaction that must land first. */
  readonly first?: Plan;
  /** Whether it makes something for the owner, which stays if he then does not sign. */
  readonly firstForOwner?: boolean;
  readonly antId?: string;
}

/** Sends what the service alone may do; ends completed, or refunded with the error that says why. */
export async function performAlone(context: ActionContext, action: Action, plan: Plan): Promise<Action> {
  const transaction = await signNow(context, plan).catch((error: unknown) => abandon(context, action, error));
  const at = context.now();
  // Whoever ended it in the meantime has given the credits back: then nothing may be sent any more.
  if (!(await advance(context.sql, action.nonce, ['reserved'], 'sending', { at, service: transaction })))
    throw chainUnavailable();
  return settleAlone(context, action, transaction, 'first');
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
  if (delivery.outcome === 'landed') {
    refreshTraits(context, action);
    return complete(context, action, transaction.signature);
  }
  if (delivery.outcome === 'unknown') throw chainUnreadable();
  if (delivery.outcome === 'refused' && time === 'again') throw chainUnreadable();
  if (delivery.outcome === 'expired') {
    if (await shows(context, action)) return complete(context, action, transaction.signature);
    await giveUp(context, action, 'failed', 'The transaction did not land in time');
    throw chainUnavailable();
  }
  const failure = describeFailure(delivery.err, delivery.logs, transaction.wire, context.registry.programs);
  await giveUp(context, action, 'failed', failure.message);
  throw badRequest(failure.message);
}

/** Hands the owner a transaction that the chain would take now. `firstWinc`: what of the price pays for `work.first`. */
export async function prepare(
  context: ActionContext,
  action: Action,
  work: Work,
  firstWinc: bigint,
): Promise<Action> {
  const { chain, planner, settings } = context;
  try {
    if (work.first !== undefined && work.first.instructions.length > 0) {
      const first = await signNow(context, work.first);
      const delivery = await deliver(chain, first, settings);
      if (delivery.outcome !== 'landed')
        throw new ChainUnavailable(`the list did not land: ${delivery.outcome}`);
      if (firstWinc > 0n)
        await advance(context.sql, action.nonce, ['reserved'], 'reserved', {
          at: context.now(),
          keptWinc: firstWinc,
        });
    }
    const draft = planner.sign(work.plan, '11111111111111111111111111111111', 0);
    const simulation = await chain.simulate(draft.wire);
    if (simulation.err !== null) {
      const failure = describeFailure(simulation.err, simulation.logs, draft.wire, context.registry.programs);
      await giveUp(context, action, 'failed', failure.message);
      throw badRequest(failure.message);
    }
    const owned = await signNow(context, work.plan);
    await advance(context.sql, action.nonce, ['reserved'], 'awaiting', {
      at: context.now(),
      owned,
      ...(work.antId !== undefined && { antId: work.antId }),
    });
    return await current(context, action);
  } catch (error) {
    return abandon(context, action, error);
  }
}

/** The blockhash is asked for last, so that the signer has all of its life. */
async function signNow(context: ActionContext, plan: Plan): Promise<SignedTransaction> {
  const { blockhash, lastValidBlockHeight } = await context.chain.latestBlockhash();
  return context.planner.sign(plan, blockhash, lastValidBlockHeight);
}

/** Nothing was handed out or sent: the debit goes back before the error is told. */
async function abandon(context: ActionContext, action: Action, error: unknown): Promise<never> {
  const unavailable = error instanceof ChainUnavailable || error instanceof ChainRefused;
  await giveUp(
    context,
    action,
    'failed',
    unavailable ? 'The name chain was unavailable' : 'The action could not be prepared',
  );
  throw unavailable ? chainUnavailable(error) : error;
}

async function shows(context: ActionContext, action: Action): Promise<boolean> {
  try {
    return await effectShows(context.registry, action);
  } catch (error) {
    if (error instanceof ChainUnavailable || error instanceof ChainRefused) throw chainUnreadable(error);
    throw error;
  }
}

/** The sponsored mint of a bought name, measured: too large is refused with what would help. */
export async function spawnWork(context: ActionContext, request: BuyRequest): Promise<Work> {
  const build = await context.builders();
  const users = [request.owner, build.service];
  const [ownerAcl, serviceAcl] = await UserAcl.readAll(context.chain, build.programs, users);
  if (ownerAcl === undefined || serviceAcl === undefined) throw new Error('every user has a list');
  const asset = freshKey();
  const spawn: Spawn = {
    name: request.name,
    asset,
    owner: request.owner,
    opening: request.opening,
    defaultTarget: context.settings.defaultTarget,
  };
  const ownList = serviceAcl.room(build.ant, build.service).prepare;
  const together = spawnPlan(build, spawn, ownerAcl, serviceAcl, 'together');
  if (context.planner.fits(together)) {
    return { plan: together, first: { instructions: ownList }, antId: asset.address };
  }
  const plan = spawnPlan(build, spawn, ownerAcl, serviceAcl, 'before');
  const size = context.planner.measure(plan);
  if (size > maxTransactionBytes) throw openingTooLarge(size);
  const ownersList = ownerAcl.room(build.ant, build.service).prepare;
  return {
    plan,
    first: { instructions: [...ownList, ...ownersList] },
    firstForOwner: ownersList.length > 0,
    antId: asset.address,
  };
}

function openingTooLarge(size: number): NamesError {
  return badRequest(
    `antState does not fit: the transaction is ${size} bytes, ${size - maxTransactionBytes} over Solana's ` +
      `${maxTransactionBytes}-byte limit. Shorten description, keywords or logo, or set them later.`,
  );
}

export async function recordWork(
  context: ActionContext,
  request: RecordRequest,
  state: AntRecordState,
): Promise<Work> {
  return { plan: recordPlan(await context.builders(), request, state) };
}

/** Controllers and transfers: the lists of everybody concerned are read first. */
export async function authorityWork(
  context: ActionContext,
  request: Exclude<TokenRequest, RecordRequest>,
  ant: AntState,
): Promise<Work> {
  const build = await context.builders();
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
  if (request.action !== 'buy-name' || antId === undefined) throw new Error('not a purchase of a name');
  const build = await context.builders();
  const { record } = await context.registry.name(request.name);
  if (record !== undefined) {
    if (record.ant === antId)
      return complete(context, action, action.service?.signature ?? action.owned?.signature ?? '');
    return lostName(context, action, request.name);
  }
  const transaction = await signNow(context, registryPlan(build, request, antId));
  const at = context.now();
  if (!(await advance(context.sql, action.nonce, ['spawned'], 'spawned', { at, service: transaction })))
    return current(context, action);
  const delivery = await deliver(context.chain, transaction, context.settings);
  if (delivery.outcome === 'unknown') throw chainUnreadable();
  if (delivery.outcome === 'landed' || (await shows(context, action))) {
    context.later(() => writeTraits(context, antId, request.name));
    return complete(context, action, transaction.signature);
  }
  if (delivery.outcome === 'expired') throw chainUnavailable();
  const after = await context.registry.name(request.name);
  if (after.record !== undefined) return lostName(context, action, request.name);
  const failure = describeFailure(delivery.err, delivery.logs, transaction.wire, build.programs);
  return giveUp(context, action, 'failed', failure.message);
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
    const transaction = await signNow(context, traitsPlan(await context.builders(), antId, name));
    const delivery = await deliver(context.chain, transaction, context.settings);
    if (delivery.outcome !== 'landed') context.log.warn({ antId, name, delivery }, 'traits were not written');
  } catch (error) {
    context.log.warn({ err: error, antId, name }, 'traits were not written');
  }
}

export function requireSponsor(tokens: bigint, needed: bigint): void {
  if (tokens < needed) throw sponsorEmpty();
}
