/** Tries again what may pass: a lost connection, a busy service. While the browser is offline nothing is tried. */
import { ServiceError } from '../../../services/console.ts';

export interface RetryDeps {
  isOnline(): boolean;
  /** Resolves when the browser is online; rejects when the signal says so. */
  whenOnline(signal: AbortSignal): Promise<void>;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

const tries = 6;
const firstMs = 500;
const longestMs = 8_000;

export async function retrying<T>(deps: RetryDeps, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (!mayPass(error)) throw error;
      // What failed for want of a connection is no try.
      if (!deps.isOnline()) attempt = 0;
      else if (attempt >= tries) throw error;
    }
    await deps.whenOnline(signal);
    if (attempt > 0) await deps.sleep(Math.min(longestMs, firstMs * 2 ** (attempt - 1)), signal);
  }
}

/** 4xx is final but for 408 and 429; 0 is no answer at all. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  const { status } = error;
  return status === 0 || status === 408 || status === 429 || status >= 500;
}
