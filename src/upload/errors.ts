/** Every refusal of the upload surface, with its status and exact body (interface §4.3, §7). */
import { type Lack, lackHeaders, lackWords } from '../credits/lack.ts';
import { HttpError } from '../kernel/errors.ts';
import { OracleUnavailable } from '../pricing/pricing.ts';
import { BlobStoreUnavailable } from '../storage/blobs/blobs.ts';
import { DiskNearlyFull } from '../storage/disk-space.ts';
import { DatabaseUnavailable } from '../storage/sql/sql.ts';

/** A blob that an item is made of is not there, or not as it was: the store lost what it had acknowledged. */
export class MissingBytes extends Error {
  override readonly name = 'MissingBytes';
  /** The digest of that blob; empty where nobody knows which it is. */
  readonly blob: string;

  constructor(
    message: string,
    { blob = '', cause }: { readonly blob?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.blob = blob;
  }
}

/** The tags of an item ask for a loan that is not made. */
export class ApprovalRefused extends HttpError {
  constructor(why: string) {
    super(400, why);
  }
}

/** The tags of an item take back a loan, and that is not done. */
export class RevokeRefused extends HttpError {
  constructor(why: string) {
    super(400, why);
  }
}

/** Answered only where the upload cannot be paid: otherwise it is charged. */
export class FreeAllowanceUsedUp extends HttpError {
  constructor(retryAfter: number) {
    super(429, 'The free allowance of this network address is used up', { retryAfter });
  }
}

/** An upload that its wallet cannot pay with credits. */
export class InsufficientBalance extends HttpError {
  readonly lack: Lack | undefined;

  constructor(lack?: Lack) {
    super(402, lack === undefined ? insufficient : `${insufficient}: ${lackWords(lack)}`, {
      headers: lack === undefined ? {} : lackHeaders(lack),
    });
    this.lack = lack;
  }
}

/** Published clients look for these words. */
export const insufficient = 'Insufficient balance';

/** Each chunk of a proof is asked of a node. */
export class ProofTooLarge extends HttpError {
  constructor() {
    super(413, 'The item is too large for a proof');
  }
}

/** 4xx is final to clients, 5xx and 429 are tried again: what can succeed later is one of those. */
export const uploadErrors = {
  blocked: (id: string) =>
    new HttpError(451, `Requested content blocked by this service's content policy. Blocked ID: ${id}`, {
      headers: { 'cache-control': 'no-store' },
    }),
  invalidToken: () => new HttpError(400, 'Invalid token'),
  missingAddress: () => new HttpError(400, 'Missing address in query parameters'),
  invalidAddress: () => new HttpError(400, 'Invalid address format'),
  invalidByteCount: () => new HttpError(400, 'Invalid byte count'),
  byteCountTooLarge: () => new HttpError(400, 'Byte count too large'),
  pricingUnavailable: (retryAfter: number, cause: unknown) =>
    new HttpError(503, 'Pricing Oracle Unavailable', { retryAfter, cause }),

  invalidContentType: () => new HttpError(400, 'Invalid Content Type'),
  lengthRequired: () => new HttpError(411, 'Content-Length header is required'),
  tooLarge: (limit: number) =>
    new HttpError(413, `Data item is too large, this service only accepts data items up to ${limit} bytes!`),
  longerThanPaid: (most: number) =>
    new HttpError(413, `The body is longer than the ${most} bytes of maxBytes`),
  unreadableItem: (why: string) => new HttpError(400, `Data item parsing error! (${why})`),
  invalidItem: () => new HttpError(400, 'Invalid Data Item!'),
  unpayableType: () => new HttpError(400, 'Data items with this signature type cannot be paid for'),
  sizeMismatch: () => new HttpError(400, 'The item has another size than Content-Length said'),
  cutShort: () => new HttpError(400, 'The request ended before the item did'),
  forbidden: () => new HttpError(403, 'Forbidden'),
  insufficientBalance: (lack?: Lack) => new InsufficientBalance(lack),

  approvalWithoutAmount: () => new ApprovalRefused('Approval x-amount tag missing a winc value!'),
  approvalFailed: (reason: string) =>
    new ApprovalRefused(`Unable to create delegated payment approval : ${reason}`),
  revokeFailed: (reason?: string) =>
    new RevokeRefused(
      `Unable to revoke delegated payment approval ${reason === undefined ? '!' : `: ${reason}`}`,
    ),

  invalidChunkSize: (min: number, max: number) =>
    new HttpError(400, { error: 'Invalid chunk size', min, max }),
  unknownSession: (id: string) => new HttpError(404, `Multi-part upload with ID ${id} not found!`),
  chunkLength: () => new HttpError(400, 'Content-Length header is required a must be a positive integer.'),
  invalidChunk: (why: string) => new HttpError(400, `Invalid chunk. ${why}`),
  incompleteUpload: (why: string) => new HttpError(400, `Invalid Data Item! ${why}`),
  lostUpload: () => uploadErrors.incompleteUpload('Its bytes were lost here: upload it again'),
  sessionClosed: () => new HttpError(400, 'This multi-part upload is being finalized or is over'),
  sessionBusy: () => new HttpError(503, 'This multi-part upload is being finalized', { retryAfter: 2 }),
  paymentUsed: () => new HttpError(409, 'This payment has begun an upload already'),
  guessableIdempotencyKey: () =>
    new HttpError(400, 'Invalid Idempotency-Key: with a payment it has at least 16 characters'),
  invalidIdempotencyKey: () => new HttpError(400, 'Invalid Idempotency-Key'),
  tooManySessions: () =>
    new HttpError(429, 'Too many open multi-part uploads from this network address', { retryAfter: 60 }),
  tooManyPartBytes: (limit: number) =>
    new HttpError(
      429,
      `The open multi-part uploads from this network address may have ${limit} bytes together: finish some first`,
      { retryAfter: 60 },
    ),

  invalidId: () => new HttpError(400, 'Invalid id'),
  unknownItem: () => new HttpError(404, "TX doesn't exist"),
  badRange: (size: number) =>
    new HttpError(416, 'Range Not Satisfiable', { headers: { 'content-range': `bytes */${size}` } }),

  storeUnavailable: (id: string, cause: unknown) =>
    new HttpError(503, `Data Item: ${id}. Upload Service is Unavailable. Object Store is unreachable`, {
      retryAfter: 5,
      cause,
    }),
  ledgerUnavailable: (id: string, cause: unknown) =>
    new HttpError(503, `Data Item: ${id}. Upload Service is Unavailable. Payment Service is unreachable`, {
      retryAfter: 5,
      cause,
    }),
  diskNearlyFull: (cause: unknown) =>
    new HttpError(507, 'The disk of this service is nearly full: nothing can be uploaded for now', {
      retryAfter: 60,
      cause,
    }),
  chainUnknown: (id: string) =>
    new HttpError(503, `Data Item: ${id}. Upload Service is Unavailable. Unable to sign receipt...`, {
      retryAfter: 30,
    }),
};

const streamEnds = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ABORT_ERR']);

/** What the rooms below throw, as an answer of this surface; anything else as it is. `id` is the item's, once it is known. */
export function translateError(error: unknown, id = 'unknown'): unknown {
  if (error instanceof HttpError) return error;
  if (error instanceof OracleUnavailable) return uploadErrors.pricingUnavailable(error.retryAfter, error);
  if (error instanceof BlobStoreUnavailable || error instanceof MissingBytes)
    return uploadErrors.storeUnavailable(id, error);
  if (error instanceof DiskNearlyFull) return uploadErrors.diskNearlyFull(error);
  if (error instanceof DatabaseUnavailable) return uploadErrors.ledgerUnavailable(id, error);
  if (error instanceof Error && 'code' in error && streamEnds.has(String(error.code))) {
    return uploadErrors.cutShort();
  }
  return error;
}

/** The same for the `catch` of a promise. */
export function throwTranslated(error: unknown): never {
  throw translateError(error);
}
