/** What an upload costs, before it is paid: item by item, as the service charges it. */

/** How many sizes a service is asked the price of, at most. */
export const mostSamples = 24;

/** The sizes to ask the price of: all of them where they are few, else some of them, the smallest and the largest too. */
export function sampledSizes(sizes: readonly number[]): number[] {
  const distinct = [...new Set(sizes)].sort((one, other) => one - other);
  if (distinct.length <= mostSamples) return distinct;
  const step = (distinct.length - 1) / (mostSamples - 1);
  return [...new Set(Array.from({ length: mostSamples }, (_, at) => distinct[Math.round(at * step)] ?? 0))];
}

/** Winc by size. */
export type Samples = ReadonlyMap<number, bigint>;

export interface Price {
  readonly winc: bigint;
  /** False where some sizes were not asked for: their price is on the line between their neighbours'. */
  readonly isExact: boolean;
}

/** Of items of these sizes; those up to `freeBytes` cost nothing. Undefined before the prices are known. */
export function priceOf(sizes: readonly number[], samples: Samples, freeBytes: number): Price | undefined {
  let winc = 0n;
  let isExact = true;
  const known = [...samples.keys()].sort((one, other) => one - other);
  for (const size of sizes) {
    if (size <= freeBytes) continue;
    const exact = samples.get(size);
    const price = exact ?? between(size, known, samples);
    if (price === undefined) return undefined;
    isExact &&= exact !== undefined;
    winc += price;
  }
  return { winc, isExact };
}

function between(size: number, known: readonly number[], samples: Samples): bigint | undefined {
  const below = known.findLast((each) => each < size);
  const above = known.find((each) => each > size);
  if (below === undefined || above === undefined) return undefined;
  const [low, high] = [samples.get(below) ?? 0n, samples.get(above) ?? 0n];
  const part = ((high - low) * BigInt(size - below)) / BigInt(above - below);
  return low + part + 1n;
}
