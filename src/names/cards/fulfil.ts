/**
 * Delivering a name that was paid by card: step by step, each stored before it is sent, so that a crash or a chain
 * that is away only delays it. Until the registry is paid it can be given up, and the card gets its money back.
 */
import { holdPaymentIn, oweRefundIn } from '../../credits/card/undelivered.ts';
import { winc } from '../../credits/credits.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { isSolanaAddress } from '../../formats/solana/address.ts';
import { ChainRefused, ChainUnavailable } from '../../registry/errors.ts';
import type { ActionContext } from '../actions/context.ts';
import { effectShows } from '../actions/effect.ts';
import type { BeforeState, StoredTransaction } from '../actions/store.ts';
import { UserAcl } from '../chain/acl.ts';
import { type Delivery, deliver } from '../chain/delivery.ts';
import type { Plan } from '../chain/plan.ts';
import { custodialSpawnPlan, registryPlan } from '../chain/plan-purchase.ts';
import { transferPlan } from '../chain/plan-token.ts';
import { describeFailure } from '../chain/program-failure.ts';
import { freshKey } from '../chain/service-key.ts';
import { writeReceipt } from '../receipts.ts';
import { move, type PaidPurchase, readPurchase, type Stage } from './store.ts';

type Step = (context: ActionContext, purchase: PaidPurchase) => Promise<boolean>;

const steps: Readonly<Record<Stage, Step | undefined>> = {
  paid: begin,
  spawning: spawned,
  spawned: pay,
  paying: paid,
  bought: handOver,
  handing: handedOver,
  done: undefined,
};

/** Takes a purchase as far as it goes now. */
export async function fulfil(context: ActionContext, nonce: string): Promise<void> {
  await context.locks.hold(`purchase ${nonce}`, async () => {
    for (;;) {
      const purchase = await readPurchase(context.sql, nonce);
      const step = purchase?.status === 'PENDING' ? steps[purchase.stage] : undefined;
      if (purchase === undefined || step === undefined) return;
      try {
        if (!(await step(context, purchase))) return;
      } catch (error) {
        if (!(error instanceof ChainUnavailable || error instanceof ChainRefused)) throw error;
        context.log.warn({ err: error, nonce, stage: purchase.stage }, 'a name purchase waits for the chain');
        return;
      }
    }
  });
}

async function sign(context: ActionContext, plan: Plan): Promise<StoredTransaction> {
  const { blockhash, lastValidBlockHeight } = await context.chain.latestBlockhash();
  return context.planner.sign(plan, blockhash, lastValidBlockHeight);
}

async function delivered(context: ActionContext, { service }: PaidPurchase): Promise<Delivery> {
  if (service === undefined) throw new Error('a stage without its transaction');
  return deliver(context.chain, service, context.settings);
}

async function begin(context: ActionContext, purchase: PaidPurchase): Promise<boolean> {
  const { nonce, processId } = purchase;
  const at = context.now();
  if (at > purchase.expiresAt) return giveUp(context, purchase, 'The name could not be registered in time');
  if (purchase.purchase.action !== 'buy-name') return pay(context, purchase);
  if (processId !== undefined) {
    if ((await context.registry.ant(processId)) === undefined) {
      return giveUp(context, purchase, `ANT ${processId} does not exist`);
    }
    return move(context.sql, nonce, 'paid', 'spawned', { at, antId: processId });
  }
  const build = await context.builders();
  const asset = freshKey();
  const acl = await UserAcl.read(context.chain, build.programs, build.service);
  const spawn = {
    name: purchase.purchase.name,
    asset,
    opening: {},
    defaultTarget: context.settings.defaultTarget,
  };
  const service = await sign(context, custodialSpawnPlan(build, spawn, acl));
  return move(context.sql, nonce, 'paid', 'spawning', { at, antId: asset.address, service });
}

async function spawned(context: ActionContext, purchase: PaidPurchase): Promise<boolean> {
  const delivery = await delivered(context, purchase);
  const at = context.now();
  if (delivery.outcome === 'landed') return move(context.sql, purchase.nonce, 'spawning', 'spawned', { at });
  if (delivery.outcome === 'expired') return move(context.sql, purchase.nonce, 'spawning', 'paid', { at });
  if (delivery.outcome !== 'unknown') return refused(context, purchase, delivery);
  return false;
}

/** Pays the registry: for a token that is there, or for a name that is registered already. */
async function pay(context: ActionContext, purchase: PaidPurchase): Promise<boolean> {
  const { nonce, antId, stage } = purchase;
  const asked = purchase.purchase;
  const at = context.now();
  const { record } = await context.registry.name(asked.name);
  let before: BeforeState | undefined;
  if (asked.action === 'buy-name') {
    if (record !== undefined && record.ant === antId)
      return move(context.sql, nonce, stage, 'bought', { at });
    if (record !== undefined) return giveUp(context, purchase, `Name ${asked.name} already exists`);
  } else {
    if (record === undefined) return giveUp(context, purchase, `Name ${asked.name} does not exist`);
    const { ant, type, end, undernameLimit } = record;
    before = { ant, type, end: end ?? null, undernameLimit };
  }
  if (at > purchase.expiresAt) return giveUp(context, purchase, 'The name could not be registered in time');
  const service = await sign(context, registryPlan(await context.builders(), asked, antId));
  return move(context.sql, nonce, stage, 'paying', {
    at,
    service,
    ...(before !== undefined && { before, antId: before.ant }),
  });
}

async function paid(context: ActionContext, purchase: PaidPurchase): Promise<boolean> {
  const delivery = await delivered(context, purchase);
  if (delivery.outcome === 'unknown') return false;
  const at = context.now();
  const { nonce, service, antId, before } = purchase;
  const asked = purchase.purchase;
  const request = asked.action === 'buy-name' ? { ...asked, owner: context.key.address, opening: {} } : asked;
  // Nobody else binds the name to this token; for the rest others may have paid the same meanwhile.
  const exact = asked.action === 'buy-name';
  const shows =
    delivery.outcome === 'landed' ||
    ((exact || delivery.outcome !== 'failed') &&
      (await effectShows(context.registry, { request, antId, before })));
  // Refused because of its own effect, perhaps: the chain says so, or that it is dead, in a while.
  if (shows && !exact && delivery.outcome === 'refused') return false;
  if (shows) {
    const messageId = service?.signature;
    return move(context.sql, nonce, 'paying', 'bought', {
      at,
      ...(messageId !== undefined && { messageId }),
    });
  }
  if (delivery.outcome !== 'expired') return refused(context, purchase, delivery);
  return move(context.sql, nonce, 'paying', exact ? 'spawned' : 'paid', { at });
}

/** The buyer's own wallet, where he has one on this chain and the token is one we made. */
function walletOf({ purchase, processId, address, addressType }: PaidPurchase): SolanaAddress | undefined {
  if (purchase.action !== 'buy-name' || processId !== undefined || addressType !== 'solana') return undefined;
  return isSolanaAddress(address) ? address : undefined;
}

async function handOver(context: ActionContext, purchase: PaidPurchase): Promise<boolean> {
  const wallet = walletOf(purchase);
  const { antId, nonce, processId } = purchase;
  const kept = purchase.purchase.action === 'buy-name' && processId === undefined;
  if (wallet === undefined || antId === undefined)
    return confirm(context, purchase, kept ? 'custodial' : undefined);
  const build = await context.builders();
  const ant = await context.registry.ant(antId);
  if (ant === undefined) return confirm(context, purchase, 'custodial');
  if (ant.owner === wallet) return confirm(context, purchase, wallet);
  const [from, to] = await UserAcl.readAll(context.chain, build.programs, [build.service, wallet]);
  if (from === undefined || to === undefined) throw new Error('every user has a list');
  const service = await sign(context, transferPlan(build, ant, { from, to, controllers: [] }, false));
  return move(context.sql, nonce, 'bought', 'handing', { at: context.now(), service });
}

/** A token that cannot be handed over stays with the service; its buyer may ask for it later. */
async function handedOver(context: ActionContext, purchase: PaidPurchase): Promise<boolean> {
  const delivery = await delivered(context, purchase);
  if (delivery.outcome === 'unknown') return false;
  if (delivery.outcome === 'expired') {
    return move(context.sql, purchase.nonce, 'handing', 'bought', { at: context.now() });
  }
  return confirm(context, purchase, delivery.outcome === 'landed' ? walletOf(purchase) : 'custodial');
}

/** `holder`: who has the token of a bought name now. */
async function confirm(
  context: ActionContext,
  purchase: PaidPurchase,
  holder: SolanaAddress | 'custodial' | undefined,
): Promise<boolean> {
  const at = context.now();
  const asked = purchase.purchase;
  await context.sql.transaction(async (tx) => {
    const messageId = purchase.messageId ?? purchase.service?.signature ?? '';
    const moved = await move(tx, purchase.nonce, purchase.stage, 'done', {
      at,
      status: 'CONFIRMED',
      messageId,
    });
    if (!moved) return;
    await writeReceipt(tx, {
      reference: purchase.nonce,
      name: asked.name,
      antId: purchase.antId,
      intent: purchase.intent,
      ...(asked.action === 'buy-name' && { type: asked.type }),
      ...('years' in asked && asked.years > 0 && { years: asked.years }),
      payer: purchase.address,
      ...(holder !== undefined && holder !== 'custodial' && { owner: holder }),
      custodial: holder === 'custodial',
      purchasedAt: at,
    });
    if (purchase.excessWinc > 0n) {
      await context.credits.within(tx).credit({
        address: purchase.address,
        addressType: purchase.addressType,
        amount: winc(purchase.excessWinc),
        reason: 'arns_excess_payment',
        id: purchase.nonce,
      });
    }
  });
  context.prices.forget(asked.name);
  context.metrics.action(`card-${asked.action}`, 'completed');
  return false;
}

async function refused(
  context: ActionContext,
  purchase: PaidPurchase,
  delivery: Extract<Delivery, { outcome: 'failed' | 'refused' }>,
): Promise<boolean> {
  const wire = purchase.service?.wire ?? Buffer.alloc(0);
  const failure = describeFailure(delivery.err, delivery.logs, wire, context.registry.programs);
  return giveUp(context, purchase, failure.message);
}

async function giveUp(context: ActionContext, purchase: PaidPurchase, reason: string): Promise<boolean> {
  const at = context.now();
  const failedReason = reason.slice(0, 500);
  const { nonce, address, addressType } = purchase;
  await context.sql.transaction(async (tx) => {
    await holdPaymentIn(tx, nonce);
    if (!(await move(tx, nonce, purchase.stage, 'done', { at, status: 'FAILED', failedReason }))) return;
    // Who took his payment back in the meantime was charged for a name that he will not have.
    const amount = await oweRefundIn(tx, nonce, at);
    if (amount === 0n) return;
    const id = `${nonce}:undelivered`;
    await context.credits
      .within(tx)
      .credit({ address, addressType, amount, reason: 'chargeback_reversed', id });
  });
  context.metrics.action(`card-${purchase.purchase.action}`, 'failed');
  context.log.warn({ nonce: purchase.nonce, reason }, 'a name paid by card could not be delivered');
  return false;
}
