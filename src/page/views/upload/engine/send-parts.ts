/**
 * Sends an item in parts that survive a lost connection, a pause and a reload: what the service has is asked for first
 * and not sent again.
 */
import { ServiceError } from '../../../services/console.ts';
import type { PartsStatus, Receipt, SendOptions, UploadTerms } from '../../../services/upload.ts';
import type { UploadEntry } from './entry.ts';
import { type RetryDeps, retrying } from './retry.ts';

/** `services/upload.ts`, as far as an upload needs it. */
export interface UploadService {
  sendItem(token: string, item: Blob, options: SendOptions): Promise<Receipt>;
  beginParts(token: string, partBytes: number, signal: AbortSignal): Promise<string>;
  partsThere(token: string, session: string, signal: AbortSignal): Promise<ReadonlyMap<number, number>>;
  sendPart(token: string, session: string, start: number, part: Blob, options: SendOptions): Promise<void>;
  finalizeParts(token: string, session: string, options: SendOptions): Promise<void>;
  partsStatus(token: string, session: string, signal: AbortSignal): Promise<PartsStatus>;
}

export interface PartsUpload {
  readonly token: string;
  readonly item: Blob;
  readonly terms: UploadTerms;
  /** One that was begun before. */
  readonly session: UploadEntry['session'];
  readonly paidBy: readonly string[];
  readonly signal: AbortSignal;
  onSession(session: UploadEntry['session']): void;
  onSent(bytes: number): void;
  onFinishing(): void;
}

/** The service cannot make the item of what it was sent. */
export class PartsRefused extends Error {
  override readonly name = 'PartsRefused';
}

const mebibyte = 1024 * 1024;
const fewParts = 1_000;
const partsAtOnce = 2;
const pollMs = { first: 250, longest: 4_000 };

/** The least that a service takes, so that little is sent again; more where there would be very many. */
export function partBytesOf(itemBytes: number, { minPartBytes, maxPartBytes }: UploadTerms): number {
  const even = Math.ceil(itemBytes / fewParts / mebibyte) * mebibyte;
  return Math.min(maxPartBytes, Math.max(minPartBytes, even));
}

/** Whether an item is worth parts: smaller ones are sent at once. */
export const isInParts = (itemBytes: number, { minPartBytes }: UploadTerms): boolean =>
  itemBytes > 2 * minPartBytes;

export async function sendInParts(
  service: UploadService,
  deps: RetryDeps,
  upload: PartsUpload,
): Promise<Receipt> {
  const { token, item, terms, signal } = upload;
  const again = <T>(ask: () => Promise<T>): Promise<T> => retrying(deps, signal, ask);
  let session = upload.session;
  if (session !== undefined) {
    const known = await statusOf(service, again, token, session.id, signal);
    if (known?.receipt !== undefined) return known.receipt;
    if (known?.status === 'VALIDATING') return finished(service, deps, upload, session.id);
    if (known === undefined || (known.status !== 'ASSEMBLING' && known.status !== 'UNDERFUNDED')) {
      session = undefined;
    }
  }
  if (session === undefined) {
    const partBytes = partBytesOf(item.size, terms);
    session = { id: await again(() => service.beginParts(token, partBytes, signal)), partBytes };
    upload.onSession(session);
  }
  await sendMissing(service, deps, upload, session);
  const { id } = session;
  upload.onFinishing();
  const { paidBy } = upload;
  await again(() => service.finalizeParts(token, id, { signal, paidBy }));
  return finished(service, deps, upload, id);
}

/** Undefined for a session that the service does not know any more. */
async function statusOf(
  service: UploadService,
  again: <T>(ask: () => Promise<T>) => Promise<T>,
  token: string,
  session: string,
  signal: AbortSignal,
): Promise<PartsStatus | undefined> {
  try {
    return await again(() => service.partsStatus(token, session, signal));
  } catch (error) {
    if (error instanceof ServiceError && error.status === 404) return undefined;
    throw error;
  }
}

async function sendMissing(
  service: UploadService,
  deps: RetryDeps,
  { token, item, signal, onSent }: PartsUpload,
  { id, partBytes }: NonNullable<UploadEntry['session']>,
): Promise<void> {
  const there = await retrying(deps, signal, () => service.partsThere(token, id, signal));
  const sent = new Map<number, number>();
  const missing: number[] = [];
  for (let start = 0; start < item.size; start += partBytes) {
    const size = Math.min(partBytes, item.size - start);
    if (there.get(start) === size) sent.set(start, size);
    else missing.push(start);
  }
  const tell = (start: number, bytes: number): void => {
    sent.set(start, bytes);
    onSent([...sent.values()].reduce((sum, each) => sum + each, 0));
  };
  onSent([...sent.values()].reduce((sum, each) => sum + each, 0));
  // One part that fails for good stops the others.
  const stop = new AbortController();
  const partSignal = AbortSignal.any([signal, stop.signal]);
  const sendNext = async (): Promise<void> => {
    for (;;) {
      const start = missing.shift();
      if (start === undefined) return;
      const size = Math.min(partBytes, item.size - start);
      await retrying(deps, partSignal, () =>
        service.sendPart(token, id, start, item.slice(start, start + size), {
          signal: partSignal,
          onSent: (bytes) => tell(start, Math.min(bytes, size)),
        }),
      );
      tell(start, size);
    }
  };
  try {
    await Promise.all(Array.from({ length: partsAtOnce }, sendNext));
  } catch (error) {
    stop.abort();
    throw error;
  }
}

async function finished(
  service: UploadService,
  deps: RetryDeps,
  { token, signal, onFinishing }: PartsUpload,
  session: string,
): Promise<Receipt> {
  onFinishing();
  for (let ms = pollMs.first; ; ms = Math.min(pollMs.longest, ms * 2)) {
    const { status, receipt } = await retrying(deps, signal, () =>
      service.partsStatus(token, session, signal),
    );
    if (receipt !== undefined) return receipt;
    if (status === 'UNDERFUNDED') throw new ServiceError(402, 'Insufficient balance');
    if (status !== 'ASSEMBLING' && status !== 'VALIDATING') throw new PartsRefused(status);
    await deps.sleep(ms, signal);
  }
}
