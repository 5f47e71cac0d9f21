/**
 * What the person has of each step of the road. What this browser remembers counts only where the services know it too: a
 * local network may have begun anew since.
 */
import { ServiceError } from './console.ts';
import { kept } from './kept.ts';
import { readReceipts } from './names.ts';
import { balanceOf } from './payment.ts';
import { serviceUrl } from './settings.ts';

export interface RoadProgress {
  readonly hasCredits: boolean;
  /** The newest upload of this browser. */
  readonly upload: { readonly id: string } | undefined;
  /** A name that was bought by or for the wallet. */
  readonly name: string | undefined;
}

const askForMs = 5_000;

/** `address`: of the wallet in use. A service that is away has seen nothing. */
export async function readProgress(address: string | undefined, signal: AbortSignal): Promise<RoadProgress> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(askForMs)]);
  const [hasCredits, upload, name] = await Promise.all([
    address === undefined ? false : known(hasCreditsAt(address, limit), false),
    known(newestUpload(limit), undefined),
    address === undefined ? undefined : known(boughtName(address, limit), undefined),
  ]);
  return { hasCredits, upload, name };
}

async function hasCreditsAt(address: string, signal: AbortSignal): Promise<boolean> {
  return (await balanceOf(address, signal)).effectiveWinc > 0n;
}

async function newestUpload(signal: AbortSignal): Promise<{ id: string } | undefined> {
  const receipts = await kept<{ readonly id: string; readonly at: number }>('receipts').all();
  const newest = receipts.sort((one, other) => other.at - one.at)[0];
  const upload = serviceUrl('upload');
  if (newest === undefined || upload === undefined) return undefined;
  const answer = await fetch(`${upload}/v1/tx/${encodeURIComponent(newest.id)}/status`, { signal });
  return answer.ok ? { id: newest.id } : undefined;
}

async function boughtName(address: string, signal: AbortSignal): Promise<string | undefined> {
  return (await readReceipts(address, signal)).at(-1)?.name;
}

async function known<T>(answer: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ServiceError || error instanceof TypeError || error instanceof DOMException)
      return otherwise;
    throw error;
  }
}
