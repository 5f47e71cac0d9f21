/** How the page asks the upload service. */
import { isCount, isRecord, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import { texts } from '../texts.ts';
import { messageIn, ServiceError } from './console.ts';
import { serviceUrl } from './settings.ts';

/** The service's signed promise; what it holds besides is kept as it came. */
export type Receipt = Readonly<Record<string, unknown>> & { readonly id: string };

export interface UploadTerms {
  /** Items up to this size cost nothing; 0 where nothing is free. */
  readonly freeBytes: number;
  readonly maxItemBytes: number;
  readonly minPartBytes: number;
  readonly maxPartBytes: number;
}

export interface SendOptions {
  readonly signal: AbortSignal;
  /** Told how many bytes of the body are on their way. */
  readonly onSent?: (bytes: number) => void;
  /** Wallets that lent credits and pay first. */
  readonly paidBy?: readonly string[];
}

/** How far an item is. */
export interface ItemStatus {
  /** `CONFIRMED`: taken in; `FINALIZED`: permanent; `FAILED`. */
  readonly status: string;
  /** `new`, `pending` (in a bundle), `permanent`, `failed`. */
  readonly info: string;
  readonly bundleId: string | undefined;
  readonly reason: string | undefined;
  /** What was paid for it; undefined where the service does not say. */
  readonly winc?: bigint;
}

/** How far an upload in parts is. */
export interface PartsStatus {
  /** `ASSEMBLING`, `VALIDATING`, `FINALIZED`, `UNDERFUNDED`, or why it failed. */
  readonly status: string;
  readonly receipt: Receipt | undefined;
}

const mebibyte = 1024 * 1024;
/** A connection on which nothing moves for so long is lost. */
const stalledMs = 60_000;
/** How long the service may take to look at what it was sent. */
const answerMs = 300_000;

export async function uploadTerms(signal?: AbortSignal): Promise<UploadTerms> {
  const info = await getJson('/v1/info', signal);
  const parts = memberOf(info, 'multipart');
  const count = (from: unknown, name: string, otherwise: number): number => {
    const value = memberOf(from, name);
    return isCount(value) ? value : otherwise;
  };
  return {
    freeBytes: count(info, 'freeUploadLimitBytes', 0),
    maxItemBytes: count(info, 'maxDataItemBytes', Number.MAX_SAFE_INTEGER),
    minPartBytes: count(parts, 'min', 5 * mebibyte),
    maxPartBytes: count(parts, 'max', 500 * mebibyte),
  };
}

/** Sends a whole item. The same item again answers the same receipt, so it can be tried again. */
export async function sendItem(token: string, item: Blob, options: SendOptions): Promise<Receipt> {
  return asReceipt(await send(`/v1/tx/${token}`, item, options));
}

/** Begins an upload in parts of one size; answers its id. */
export async function beginParts(token: string, partBytes: number, signal: AbortSignal): Promise<string> {
  const id = textOf(await getJson(`/v1/chunks/${token}/-1/-1?chunkSize=${partBytes}`, signal), 'id', 64);
  if (id === undefined) throw new ServiceError(502, texts.upload.noSession);
  return id;
}

/** Which parts are there: start and size. */
export async function partsThere(
  token: string,
  session: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, number>> {
  const chunks = memberOf(await getJson(partsPath(token, session, '-1'), signal), 'chunks');
  const there = new Map<number, number>();
  for (const part of Array.isArray(chunks) ? chunks : []) {
    if (Array.isArray(part) && isCount(part[0]) && isCount(part[1])) there.set(part[0], part[1]);
  }
  return there;
}

export async function sendPart(
  token: string,
  session: string,
  start: number,
  part: Blob,
  options: SendOptions,
): Promise<void> {
  await send(partsPath(token, session, String(start)), part, options);
}

/** All parts are there: the service makes an item of them. Ask `partsStatus` for the end. */
export async function finalizeParts(token: string, session: string, options: SendOptions): Promise<void> {
  await send(partsPath(token, session, 'finalize'), new Blob([]), options);
}

export async function partsStatus(token: string, session: string, signal: AbortSignal): Promise<PartsStatus> {
  const answer = await getJson(partsPath(token, session, 'status'), signal);
  const receipt = memberOf(answer, 'receipt');
  return {
    status: textOf(answer, 'status', 64) ?? '',
    receipt: receipt === undefined ? undefined : asReceipt(receipt),
  };
}

export async function itemStatus(id: string, signal?: AbortSignal): Promise<ItemStatus> {
  const answer = await getJson(`/v1/tx/${encodeURIComponent(id)}/status`, signal);
  const winc = textOf(answer, 'winc', 40) ?? '';
  return {
    status: textOf(answer, 'status', 64) ?? '',
    info: textOf(answer, 'info', 64) ?? '',
    bundleId: textOf(answer, 'bundleId', 64),
    reason: textOf(answer, 'reason', 500),
    ...(/^[0-9]+$/.test(winc) && { winc: BigInt(winc) }),
  };
}

const partsPath = (token: string, session: string, rest: string): string =>
  `/v1/chunks/${token}/${encodeURIComponent(session)}/${rest}`;

function addressOf(path: string): string {
  const base = serviceUrl('upload');
  if (base === undefined) throw new ServiceError(0, texts.upload.noService);
  return `${base}${path}`;
}

function asReceipt(answer: unknown): Receipt {
  const id = textOf(answer, 'id', 64);
  if (!isRecord(answer) || id === undefined) {
    throw new ServiceError(502, texts.upload.noReceipt);
  }
  return { ...answer, id };
}

/** States change: what a browser remembered is of no use. */
async function getJson(path: string, signal?: AbortSignal): Promise<unknown> {
  const answer = await fetch(addressOf(path), { cache: 'no-store', ...(signal && { signal }) }).catch(
    (error: unknown) => {
      signal?.throwIfAborted();
      throw new ServiceError(0, error instanceof Error ? error.message : String(error));
    },
  );
  const text = await answer.text();
  if (!answer.ok) throw new ServiceError(answer.status, messageIn(text));
  return tryParseJson(text);
}

/** By XMLHttpRequest, which alone tells how much of a body is sent, over every version of HTTP. */
function send(path: string, body: Blob, { signal, onSent, paidBy = [] }: SendOptions): Promise<unknown> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    };
    const abort = (): void => {
      end();
      request.abort();
      reject(signal.reason);
    };
    const lost = (): void => {
      end();
      request.abort();
      reject(new ServiceError(0, texts.upload.lostConnection));
    };
    let timer = setTimeout(lost, stalledMs);
    const waitFor = (ms: number): void => {
      clearTimeout(timer);
      timer = setTimeout(lost, ms);
    };
    signal.addEventListener('abort', abort, { once: true });
    request.upload.addEventListener('progress', ({ loaded }) => {
      waitFor(stalledMs);
      onSent?.(loaded);
    });
    request.upload.addEventListener('load', () => waitFor(answerMs));
    request.addEventListener('load', () => {
      end();
      const { status, responseText } = request;
      if (status >= 200 && status < 300) resolve(tryParseJson(responseText));
      else reject(new ServiceError(status, messageIn(responseText)));
    });
    request.addEventListener('error', lost);
    request.open('POST', addressOf(path));
    request.setRequestHeader('content-type', 'application/octet-stream');
    if (paidBy.length > 0) request.setRequestHeader('x-paid-by', paidBy.join(','));
    request.send(body);
  });
}
