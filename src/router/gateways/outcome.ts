/**
 * What came of asking a gateway, as far as its health is concerned. That somebody asked for something a gateway
 * does not have, for a range or for what they have already, says nothing about the gateway.
 */
export type Outcome =
  | 'success'
  /** It does not have it, will not serve it or wants to be paid: neutral. */
  | 'client_error'
  /** 5xx, or an answer that makes no sense. */
  | 'server_error'
  /** It said when to come back (429, or 503 with `Retry-After`). */
  | 'throttled'
  | 'timeout'
  | 'connection_error'
  /** Proven not to be what was asked for. */
  | 'wrong'
  /** What it sent could not be proven, and it may be the content that is wrong: neutral. */
  | 'unproven';

/** Whether an outcome counts against a gateway. */
export function isFailure(outcome: Outcome): boolean {
  return outcome === 'server_error' || outcome === 'timeout' || outcome === 'connection_error';
}

export function outcomeOfStatus(status: number, retryAfter: string | undefined): Outcome {
  if (status === 429) return 'throttled';
  if (status === 503 && retryAfter !== undefined) return 'throttled';
  if (status >= 500) return 'server_error';
  if (status >= 400) return 'client_error';
  return 'success';
}

/** Seconds of a `Retry-After` that says a number; a date is taken as the default. */
export function retryAfterMs(value: string | undefined): number {
  const seconds = value !== undefined && /^[0-9]{1,5}$/.test(value) ? Number(value) : 5;
  return Math.min(300, Math.max(1, seconds)) * 1_000;
}
