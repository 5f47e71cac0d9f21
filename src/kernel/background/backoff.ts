/** The one rule for waiting before another try: doubling from `firstMs` up to `longestMs`. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** How long to wait after so many failures in a row (1 after the first). */
export function backoffMs({ firstMs, longestMs }: Backoff, failures: number): number {
  // Beyond 2^52 the product would leave the integers; the longest wait is reached long before.
  return Math.min(longestMs, firstMs * 2 ** Math.min(52, Math.max(0, failures - 1)));
}
