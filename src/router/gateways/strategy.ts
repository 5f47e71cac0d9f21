/** In which order gateways are tried. Each strategy sees only those that may be used. */
import type { Gateway } from './gateway.ts';

export type StrategyName = 'temperature' | 'fastest' | 'random' | 'round-robin';

/** Picks one of at least one candidate. */
export type Strategy = (candidates: readonly Gateway[]) => Gateway;

export function createStrategy(name: StrategyName, random: () => number = Math.random): Strategy {
  if (name === 'random') return (candidates) => at(candidates, Math.floor(random() * candidates.length));
  if (name === 'round-robin') return roundRobin();
  if (name === 'fastest') return fastest;
  return (candidates) => temperature(candidates, random);
}

/** Turns go by origin, so that a list that changes or a gateway that is left out upsets nobody else's turn. */
function roundRobin(): Strategy {
  let last = '';
  return (candidates) => {
    const sorted = candidates.toSorted((a, b) => (a.origin < b.origin ? -1 : 1));
    const next = sorted.find(({ origin }) => origin > last) ?? at(sorted, 0);
    last = next.origin;
    return next;
  };
}

/** One that was never measured goes first, once: else it would never be known. */
function fastest(candidates: readonly Gateway[]): Gateway {
  return candidates.reduce((best, one) =>
    (one.health.latencyMs ?? -1 + one.inFlight) < (best.health.latencyMs ?? -1 + best.inFlight) ? one : best,
  );
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
  return ((health.latencyMs ?? 1) + 5) * (1 + inFlight) * (1 + 9 * health.errorRate);
}

function at(candidates: readonly Gateway[], index: number): Gateway {
  const one = candidates[index];
  if (one === undefined) throw new RangeError('there is no gateway to choose');
  return one;
}
