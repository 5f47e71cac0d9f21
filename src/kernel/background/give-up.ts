/**
 * When something that failed again and again is left to a person, or given up. By tries alone two processes would use them
 * up at once whose clocks are further apart than the pauses: neither waits for a time that the other wrote. By time alone a
 * clock that was set would.
 */
export interface GiveUpAfter {
  readonly tries: number;
  readonly ms: number;
}

/** `since`: when it began, in milliseconds of the same clock as `now`. One ahead of it was written before that was set back. */
export const hasTriedEnough = (
  { tries, ms }: GiveUpAfter,
  tried: number,
  since: number,
  now: number,
): boolean => tried >= tries && Math.abs(now - since) >= ms;
