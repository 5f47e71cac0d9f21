/**
 * Options of an `LRUCache` that keeps so many entries. With `max` alone it takes the room of all of them when it is
 * made, which for the caches of a whole stack is 80 MiB of nothing; so it grows with what is in it.
 */
export function atMost(entries: number): {
  readonly maxSize: number;
  readonly sizeCalculation: () => number;
} {
  return { maxSize: entries, sizeCalculation: one };
}

const one = (): number => 1;
