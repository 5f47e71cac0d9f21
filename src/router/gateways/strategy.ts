/** In which order gateways are tried. Each strategy sees only those that may be used. */
import type { Gateway } from './gateway.ts';

export type StrategyName = 'temperature' | 'fastest' | 'random' | 'round-robin';

/** Picks one of at least one candidate. */
type Pick = (candidates: readonly Gateway[]) => Gateway;

export interface Strategy {
  /** Whom a request goes to first. */
  readonly first: Pick;
  /**
   * Whom it goes to as well, where the first is slow or failed. It may not change who comes first in other requests:
   * else a slow gateway, by being overtaken each time, would get the first turn each time.
   */
  readonly next: Pick;
}

export function createStrategy(name: StrategyName, random: () => number = Math.random): Strategy {
  if (name === 'round-robin') return { first: turns(), next: turns() };
  const pick: Pick = {
    random: (candidates: readonly Gateway[]) => at(candidates, Math.floor(random() * candidates.length)),
    fastest,
    temperature: (candidates: readonly Gateway[]) => temperature(candidates, random),
  }[name];
  return { first: pick, next: pick };
}

/** Turns go by origin, so that a list that changes or a gateway that is left out upsets nobody else's turn. */
function turns(): Pick {
  let last = '';
  return (candidates) => {
    const sorted = candidates.toSorted((a, b) => (a.origin < b.origin ? -1 : 1));
    const next = sorted.find(({ origin }) => origin > last) ?? at(sorted, 0);
    last = next.origin;
    return next;
  };
}

function fastest(candidates: readonly Gateway[]): Gateway {
  return candidates.reduce((best, one) => (comesBefore(one, best) ? one : best));
}

function comesBefore(one: Gateway, other: Gateway): boolean {
  const [own, others] = [expectedMs(one), expectedMs(other)];
  return own === others ? one.inFlight < other.inFlight : own < others;
}

/**
 * What no reader has measured lately is believed to be as quick as its pings, by one reader at a time: that is how it
 * gets known, and not everybody waits to find out.
 */
function expectedMs({ health, inFlight }: Gateway): number {
  if (!health.isMeasured && inFlight > 0) return Number.POSITIVE_INFINITY;
  return ((health.latencyMs ?? 0) + 5) * errorFactor(health.errorRate);
}

/**
 * The better of two drawn at random (power of two choices), so that no gateway is flooded for having been the
 * quickest a moment ago, and each is measured now and then.
 */
function temperature(candidates: readonly Gateway[], random: () => number): Gateway {
  if (candidates.length === 1) return at(candidates, 0);
  const first = Math.floor(random() * candidates.length);
  const step = 1 + Math.floor(random() * (candidates.length - 1));
  const one = at(candidates, first);
  const other = at(candidates, (first + step) % candidates.length);
  return cost(one) <= cost(other) ? one : other;
}

/** Expected milliseconds, with failures paid for dearly and requests in flight queueing. */
export function cost({ health, inFlight }: Gateway): number {
  return ((health.latencyMs ?? 1) + 5) * (1 + inFlight) * errorFactor(health.errorRate);
}

function errorFactor(errorRate: number): number {
  return 1 + 9 * errorRate;
}

function at(candidates: readonly Gateway[], index: number): Gateway {
  const one = candidates[index];
  if (one === undefined) throw new RangeError('there is no gateway to choose');
  return one;
}
