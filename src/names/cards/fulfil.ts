/**
 * Delivering a name that was paid by card: step by step, each stored before it is sent, so that a crash or a chain
 * that is away only delays it. Until the registry is paid it can be given up, and the card gets its money back.
 */
import { winc } from '../../credits/credits.ts';
import { isSolanaAddress, type SolanaAddress } from '../../formats/solana/address.ts';
import { type HeldPayment, holdPaymentIn, oweRefundIn } from '../../payments/card/refunds.ts';
import { isChainFailure } from '../../registry/errors.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { ActionContext } from '../actions/context.ts';
import { isEffectOnChain, requireSettled } from '../actions/finish.ts';
import { type BeforeState, beforeOf } from '../actions/store.ts';
import { openRoom, reserveRoom, serviceList } from '../actions/token-lists.ts';
import { UserAcl } from '../chain/acl.ts';
import { type Delivery, deliver } from '../chain/delivery.ts';
import { signNow } from '../chain/plan.ts';
import { custodialSpawnPlan, registryPlan } from '../chain/plan-purchase.ts';
import { transferPlan } from '../chain/plan-token.ts';
import { describeFailure } from '../chain/program-failure.ts';
import { freshKey } from '../chain/service-key.ts';
import { shareSlot } from '../chain/shared-slot.ts';
import { NamesError, nameExists, nameMissing } from '../errors.ts';
import { LockLost, LockTimeout } from '../locks.ts';
import { watchLease } from '../notices/leases.ts';
import { tellDone, tellNotDone } from '../notices/tell.ts';
import { writeReceipt } from '../receipts.ts';
import { debtorOf, excessShare } from './reversals.ts';
import { move, type PaidPurchase, readPurchase, type Stage } from './store.ts';

export interface FulfilContext extends ActionContext {
  /** The card is owed its money back: it need not wait for the next round. */
  readonly refundNow: () => void;
}

type Step = (context: FulfilContext, purchase: PaidPurchase) => Promise<boolean>;

/** Another process that works on the purchase takes it as far as it goes. */
const lockWaitMs = 2_000;

const steps: Readonly<Record<Stage, Step | undefined>> = {
  paid: begin,
  spawning: checkSpawn,
  spawned: payRegistry,
  paying: checkPayment,
  bought: handOver,
  handing: checkHandOver,
  done: undefined,
};

/** Takes a purchase as far as it goes now. */
export async function fulfil(context: FulfilContext, nonce: string): Promise<void> {
  const work = async () => {
    for (;;) {
      const purchase = await readPurchase(context.sql, nonce);
      const step = purchase?.status === 'PENDING' ? steps[purchase.stage] : undefined;
      if (purchase === undefined || step === undefined) return;
      try {
        if (!(await step(context, purchase))) return;
      } catch (error) {
        if (!mustWait(error)) throw error;
        context.log.warn({ err: error, nonce, stage: purchase.stage }, 'a name purchase waits for the chain');
        return;
      }
    }
  };
  try {
    await context.locks.hold(`purchase ${nonce}`, work, lockWaitMs);
  } catch (error) {
    if (!(error instanceof LockTimeout)) throw error;
    context.log.debug({ nonce }, 'another process is at work on a name purchase');
  }
}

/** The chain, the sponsor or another purchase is in the way: nothing was decided. */
const mustWait = (error: unknown): boolean =>
  isChainFailure(error) ||
  error instanceof LockTimeout ||
  error instanceof LockLost ||
  (error instanceof NamesError && error.status === 503);

async function deliverStage(context: ActionContext, { service }: PaidPurchase): Promise<Delivery> {
  if (service === undefined) throw new Error('a stage without its transaction');
  const delivery = await deliver(context.chain, service, context.settings);
  if (delivery.outcome !== 'unknown') await shareSlot(context);
  return delivery;
}

/** Moves on as long as the payment is there; with the key's lock, behind its fence. */
async function moveIfPaid(
  context: FulfilContext,
  purchase: PaidPurchase,
  to: Stage,
  changes: Parameters<typeof move>[3],
  lock?: string,
): Promise<'moved' | 'gone' | 'late'> {
  return context.sql.transaction(async (tx) => {
    if (lock !== undefined) await context.locks.fence(tx, lock);
    if ((await holdPaymentIn(tx, purchase.nonce)).isGone) return 'gone';
    return (await move(tx, purchase, to, changes)) ? 'moved' : 'late';
  });
}

const paymentGone = 'The payment was taken back';

/** Nobody else binds the name to a token that is made for it; to one of the buyer's own, whoever likes may. */
const hasFreshToken = ({ purchase, processId }: PaidPurchase): boolean =>
  purchase.action === 'buy-name' && processId === undefined;

async function begin(context: FulfilContext, purchase: PaidPurchase): Promise<boolean> {
  const { nonce, processId } = purchase;
  const at = context.now();
  if (at > purchase.expiresAt) return giveUp(context, purchase, 'The name could not be registered in time');
  if (await isGone(context, nonce)) return giveUp(context, purchase, paymentGone);
  if (purchase.purchase.action !== 'buy-name') return payRegistry(context, purchase);
  if (processId !== undefined) {
    if ((await context.registry.ant(processId)) === undefined) {
      return giveUp(context, purchase, `ANT ${processId} does not exist`);
    }
    return move(context.sql, purchase, 'spawned', { at, antId: processId });
  }
  const build = await context.builders();
  const asset = freshKey();
  const spawn = {
    name: purchase.purchase.name,
    asset,
    opening: {},
    defaultTarget: context.settings.defaultTarget,
  };
  const moved = await reserveRoom(context, async (room) => {
    const service = await signNow(context, custodialSpawnPlan(build, spawn, room));
    const listPage = Number(room.place.page);
    const changes = { at, antId: asset.address, service, listPage };
    return moveIfPaid(context, purchase, 'spawning', changes, serviceList);
  });
  return moved === 'gone' ? giveUp(context, purchase, paymentGone) : moved === 'moved';
}

async function checkSpawn(context: FulfilContext, purchase: PaidPurchase): Promise<boolean> {
  const delivery = await deliverStage(context, purchase);
  const at = context.now();
  if (delivery.outcome === 'confirmed') return move(context.sql, purchase, 'spawned', { at });
  if (delivery.outcome === 'expired') return move(context.sql, purchase, 'paid', { at });
  if (delivery.outcome !== 'unknown') return giveUpRefused(context, purchase, delivery);
  return false;
}

/**
 * Pays the registry: for a token that was made for the name, or else with nothing else being bought for the name until the
 * outcome is known, because what is bought is then told from others by what stood before.
 */
async function payRegistry(context: FulfilContext, purchase: PaidPurchase): Promise<boolean> {
  const { name } = purchase.purchase;
  if (hasFreshToken(purchase)) return pay(context, purchase);
  return context.locks.hold(`name ${name}`, async () => {
    await requireSettled(context, { name });
    if (!(await pay(context, purchase, `name ${name}`))) return false;
    const paying = await readPurchase(context.sql, purchase.nonce);
    return paying?.stage === 'paying' ? checkPayment(context, paying) : true;
  });
}

async function pay(context: FulfilContext, purchase: PaidPurchase, lock?: string): Promise<boolean> {
  const { antId } = purchase;
  const asked = purchase.purchase;
  const at = context.now();
  const { record } = await context.registry.name(asked.name);
  let before: BeforeState | undefined;
  if (asked.action === 'buy-name') {
    if (record !== undefined && record.ant === antId && hasFreshToken(purchase))
      return move(context.sql, purchase, 'bought', { at });
    if (record !== undefined) return giveUp(context, purchase, nameExists(asked.name).message);
  } else {
    if (record === undefined) return giveUp(context, purchase, nameMissing(asked.name).message);
    before = beforeOf(record);
  }
  if (at > purchase.expiresAt) return giveUp(context, purchase, 'The name could not be registered in time');
  const service = await signNow(context, registryPlan(await context.builders(), asked, antId));
  const changes = { at, service, ...(before !== undefined && { before, antId: before.ant }) };
  const moved = await moveIfPaid(context, purchase, 'paying', changes, lock);
  return moved === 'gone' ? giveUp(context, purchase, paymentGone) : moved === 'moved';
}

async function checkPayment(context: FulfilContext, purchase: PaidPurchase): Promise<boolean> {
  const delivery = await deliverStage(context, purchase);
  if (delivery.outcome === 'unknown') return false;
  const at = context.now();
  const { service, antId, before } = purchase;
  const asked = purchase.purchase;
  const request = asked.action === 'buy-name' ? { ...asked, owner: context.key.address, opening: {} } : asked;
  // Others may have paid for the same meanwhile.
  const exact = hasFreshToken(purchase);
  const isBought =
    delivery.outcome === 'confirmed' ||
    ((exact || delivery.outcome !== 'failed') &&
      (await isEffectOnChain(context.registry, { request, antId, before })));
  // Refused because of its own effect, perhaps: the chain says so, or that it is dead, in a while.
  if (isBought && !exact && delivery.outcome === 'refused') return false;
  if (isBought) {
    const messageId = service?.signature;
    return move(context.sql, purchase, 'bought', {
      at,
      ...(messageId !== undefined && { messageId }),
    });
  }
  if (delivery.outcome === 'expired') {
    return move(context.sql, purchase, exact ? 'spawned' : 'paid', { at });
  }
  if (asked.action === 'buy-name' && (await context.registry.name(asked.name)).record !== undefined) {
    return giveUp(context, purchase, nameExists(asked.name).message);
  }
  return giveUpRefused(context, purchase, delivery);
}

/** The buyer's own wallet, where there is one on this chain and the token is one we made. */
function walletOf(purchase: PaidPurchase): SolanaAddress | undefined {
  const { address, addressType } = purchase;
  if (!hasFreshToken(purchase) || addressType !== 'solana') return undefined;
  return isSolanaAddress(address) ? address : undefined;
}

async function handOver(context: FulfilContext, purchase: PaidPurchase): Promise<boolean> {
  const wallet = walletOf(purchase);
  const { antId, nonce } = purchase;
  if (wallet === undefined || antId === null)
    return confirm(context, purchase, hasFreshToken(purchase) ? 'custodial' : undefined);
  const build = await context.builders();
  const ant = await context.registry.ant(antId);
  if (ant === undefined) return confirm(context, purchase, 'custodial');
  if (ant.owner === wallet) return confirm(context, purchase, wallet);
  if (await isGone(context, nonce)) return confirm(context, purchase, 'custodial');
  // In a transaction of its own: two names for a wallet that has no list yet would each make it.
  await openRoom(context, wallet);
  const [from, to] = await UserAcl.readAll(context.chain, build.programs, [build.service, wallet]);
  if (from === undefined || to === undefined) throw new Error('every user has a list');
  const service = await signNow(context, transferPlan(build, ant, { from, to, controllers: [] }, false));
  const moved = await moveIfPaid(context, purchase, 'handing', { at: context.now(), service });
  return moved === 'gone' ? confirm(context, purchase, 'custodial') : moved === 'moved';
}

/** What is paid back is not handed over. */
async function isGone(context: FulfilContext, nonce: string): Promise<boolean> {
  return context.sql.transaction(async (tx) => (await holdPaymentIn(tx, nonce)).isGone);
}

/** A token that cannot be handed over stays with the service; its buyer may ask for it later. */
async function checkHandOver(context: FulfilContext, purchase: PaidPurchase): Promise<boolean> {
  const delivery = await deliverStage(context, purchase);
  if (delivery.outcome === 'unknown') return false;
  if (delivery.outcome === 'expired') {
    return move(context.sql, purchase, 'bought', { at: context.now() });
  }
  return confirm(context, purchase, delivery.outcome === 'confirmed' ? walletOf(purchase) : 'custodial');
}

/** `holder`: who has the token of a bought name now. */
async function confirm(
  context: FulfilContext,
  purchase: PaidPurchase,
  holder: SolanaAddress | 'custodial' | undefined,
): Promise<boolean> {
  const at = context.now();
  const asked = purchase.purchase;
  await context.sql.transaction(async (tx) => {
    const messageId = purchase.messageId ?? purchase.service?.signature ?? '';
    const payment = await holdPaymentIn(tx, purchase.nonce);
    const moved = await move(tx, purchase, 'done', {
      at,
      status: 'CONFIRMED',
      messageId,
    });
    if (!moved) return;
    await writeReceipt(tx, {
      reference: purchase.nonce,
      name: asked.name,
      antId: purchase.antId ?? undefined,
      intent: purchase.intent,
      ...(asked.action === 'buy-name' && { type: asked.type }),
      ...('years' in asked && asked.years > 0 && { years: asked.years }),
      payer: purchase.address,
      ...(holder !== undefined && holder !== 'custodial' && { owner: holder }),
      custody: holder !== 'custodial' ? 'none' : payment.isGone ? 'operator' : 'buyer',
      purchasedAt: at,
    });
    await watchLease(tx, asked.name, asked.action === 'buy-name', at);
    await creditExcess(tx, context, purchase, payment);
    const owner = holder === 'custodial' ? undefined : holder;
    await tellDone(tx, { ...deedOf(purchase), owner }, messageId, at);
  });
  context.prices.forget(asked.name);
  context.metrics.action(`card-${asked.action}`, 'completed');
  await context.changed.done(asked);
  return false;
}

const deedOf = ({ nonce, purchase, address, antId }: PaidPurchase) => ({
  id: nonce,
  request: purchase,
  payer: address,
  antId,
});

/** What was paid beyond the name becomes credits, except the part that has gone back: nobody owes that any more. */
async function creditExcess(
  tx: SqlExecutor,
  context: FulfilContext,
  purchase: PaidPurchase,
  { quote, takenBack }: HeldPayment,
): Promise<void> {
  const credits = context.credits.within(tx);
  const { nonce, address, addressType, excessWinc } = purchase;
  const gone = excessShare(purchase, takenBack);
  if (excessWinc > gone) {
    const amount = winc(excessWinc - gone);
    await credits.credit({ address, addressType, amount, reason: 'arns_excess_payment', id: nonce });
  }
  if (gone > 0n) {
    const id = `${nonce}:excess`;
    await credits.credit({ ...debtorOf(quote), amount: winc(gone), reason: 'chargeback_reversed', id });
  }
}

async function giveUpRefused(
  context: FulfilContext,
  purchase: PaidPurchase,
  delivery: Extract<Delivery, { outcome: 'failed' | 'refused' }>,
): Promise<boolean> {
  const wire = purchase.service?.wire ?? Buffer.alloc(0);
  return giveUp(context, purchase, describeFailure(delivery, wire, context.registry.programs));
}

async function giveUp(context: FulfilContext, purchase: PaidPurchase, reason: string): Promise<boolean> {
  const at = context.now();
  const failedReason = reason.slice(0, 500);
  const { nonce } = purchase;
  const done = await context.sql.transaction(async (tx) => {
    const { quote, takenBack } = await holdPaymentIn(tx, nonce);
    if (!(await move(tx, purchase, 'done', { at, status: 'FAILED', failedReason }))) return false;
    await oweRefundIn(tx, nonce, at);
    await tellNotDone(tx, deedOf(purchase), { reason: failedReason, refund: 'card' }, at);
    // What went back in the meantime was owed for a name that nobody will have.
    if (takenBack === 0n) return true;
    await context.credits.within(tx).credit({
      ...debtorOf(quote),
      amount: takenBack,
      reason: 'chargeback_reversed',
      id: `${nonce}:undelivered`,
      note: `card payment ${nonce} for ${quote.address}: ${purchase.intent} of ${purchase.purchase.name}, not delivered`,
    });
    return true;
  });
  if (!done) return false;
  context.refundNow();
  context.metrics.action(`card-${purchase.purchase.action}`, 'failed');
  context.log.warn({ nonce: purchase.nonce, reason }, 'a name paid by card could not be delivered');
  return false;
}
