/**
 * When something that failed again and again is left to a person. By tries alone two processes would use them up at once
 * whose clocks are further apart than the pauses: neither waits for a time that the other wrote. By time alone a clock that
 * was set would.
 */
export interface Patience {
  readonly tries: number;
  readonly ms: number;
}

/** `since`: when it began, in Unix milliseconds as `now`. */
export const isSpent = ({ tries, ms }: Patience, tried: number, since: number, now: number): boolean =>
  tried >= tries && now - since >= ms;
