/**
 * What names cost in the smallest unit of their token, and how the demand factor that scales it moves. Integers
 * only, divided where and as the program divides. Rolling a factor to now before pricing makes a quote equal
 * the charge.
 */
import { type DemandFactor, type PurchaseType, schemaVersion } from './accounts-arns.ts';

/** Factors and rates are in millionths. */
export const scale = 1_000_000n;
export const yearSeconds = 365 * 86_400;
export const gracePeriodSeconds = 14 * 86_400;
export const auctionSeconds = 14 * 86_400;
export const maxLeaseYears = 5;

const annualRate = 200_000n;
const permabuyYears = 5n;
const undernameRate = { lease: 1_000n, permabuy: 5_000n } as const;
const auctionStartMultiplier = 50n;

const periodSeconds = 86_400;
const factorUp = 1_050_000n;
const factorDown = 985_000n;
const factorMinimum = 500_000n;
const factorMaximum = 1_000n * scale;
const periodsBeforeFeesHalve = 7;
const trailingPeriods = 7;

/** Base fees of the registry's first day by name length: 1 to 12, then the same for all longer ones. */
const genesisFees: readonly bigint[] = [
  500_000_000_000n,
  100_000_000_000n,
  10_000_000_000n,
  5_000_000_000n,
  2_500_000_000n,
  1_500_000_000n,
  800_000_000n,
  500_000_000n,
  400_000_000n,
  350_000_000n,
  300_000_000n,
  250_000_000n,
  ...new Array<bigint>(39).fill(200_000_000n),
];

export function genesisDemandFactor(factor: bigint, periodZero: number, bump: number): DemandFactor {
  return {
    factor,
    period: 1n,
    purchases: 0n,
    revenue: 0n,
    periodsAtMinimum: 0,
    trailingPurchases: new Array<bigint>(trailingPeriods).fill(0n),
    trailingRevenues: new Array<bigint>(trailingPeriods).fill(0n),
    fees: [...genesisFees],
    periodZero,
    criteria: 'revenue',
    bump,
    version: schemaVersion,
  };
}

/** The fee of a name by its length in bytes. */
export function baseFee(demand: DemandFactor, name: string): bigint {
  const fee = demand.fees[Buffer.byteLength(name) - 1];
  if (fee === undefined) throw new RangeError('no name has this length');
  return fee;
}

export function leasePrice(fee: bigint, factor: bigint, years: number): bigint {
  return (fee * factor * (scale + annualRate * BigInt(years))) / scale / scale;
}

/** The price of a permanent name, and of making a lease permanent: nothing is credited for the running lease. */
export function permabuyPrice(fee: bigint, factor: bigint): bigint {
  return (fee * factor * permabuyYears) / scale;
}

export function registrationPrice(fee: bigint, factor: bigint, type: PurchaseType, years: number): bigint {
  return type === 'lease' ? leasePrice(fee, factor, years) : permabuyPrice(fee, factor);
}

export function extensionPrice(fee: bigint, factor: bigint, years: number): bigint {
  return (fee * factor * annualRate * BigInt(years)) / scale / scale;
}

export function undernamePrice(fee: bigint, factor: bigint, type: PurchaseType, quantity: number): bigint {
  return (fee * factor * undernameRate[type] * BigInt(quantity)) / scale / scale;
}

/** A returned name costs fifty times its price at first and falls to the price itself in fourteen days. */
export function returnedNamePrice(price: bigint, returnedAt: number, now: number): bigint {
  const duration = BigInt(auctionSeconds);
  const elapsed = BigInt(Math.min(Math.max(now - returnedAt, 0), auctionSeconds));
  const start = auctionStartMultiplier;
  const multiplier = ((start * duration - (start - 1n) * elapsed) * scale) / duration;
  return (price * multiplier) / scale;
}

/** Years a lease may still be extended by: it may never run more than five years from now. */
export function extendableYears(end: number, now: number): number {
  const remaining = Math.max(0, end - now);
  return Math.max(0, maxLeaseYears - Math.ceil(remaining / yearSeconds));
}

export function currentPeriod(periodZero: number, now: number): bigint {
  return BigInt(Math.max(0, Math.floor((now - periodZero) / periodSeconds))) + 1n;
}

/** The factor as it stands at `now`: every period that has closed since is accounted for. A new value. */
export function rollDemandFactor(demand: DemandFactor, now: number): DemandFactor {
  const target = currentPeriod(demand.periodZero, now);
  let rolled = demand;
  while (rolled.period < target) rolled = closePeriod(rolled);
  return rolled;
}

function closePeriod(demand: DemandFactor): DemandFactor {
  const closed = { ...demand };
  closed.factor = nextFactor(demand);
  if (closed.factor <= factorMinimum) {
    closed.factor = factorMinimum;
    if (demand.periodsAtMinimum >= periodsBeforeFeesHalve) {
      closed.fees = demand.fees.map((fee) => fee / 2n);
      closed.factor = scale;
      closed.periodsAtMinimum = 0;
    } else {
      closed.periodsAtMinimum = demand.periodsAtMinimum + 1;
    }
  } else {
    closed.periodsAtMinimum = 0;
  }
  const slot = Number(demand.period % BigInt(trailingPeriods));
  closed.trailingPurchases = demand.trailingPurchases.with(slot, demand.purchases);
  closed.trailingRevenues = demand.trailingRevenues.with(slot, demand.revenue);
  closed.purchases = 0n;
  closed.revenue = 0n;
  closed.period = demand.period + 1n;
  return closed;
}

function nextFactor(demand: DemandFactor): bigint {
  const { factor, criteria } = demand;
  const current = criteria === 'revenue' ? demand.revenue : demand.purchases;
  const trailing = criteria === 'revenue' ? demand.trailingRevenues : demand.trailingPurchases;
  const average = trailing.reduce((sum, value) => sum + value, 0n) / BigInt(trailingPeriods);
  if (current > 0n && current > average) {
    const raised = (factor * factorUp) / scale;
    return raised > factorMaximum ? factorMaximum : raised;
  }
  return factor > factorMinimum ? (factor * factorDown) / scale : factor;
}
