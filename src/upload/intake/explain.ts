/** Turns the failures of the rooms below into this surface's answers. */
import { HttpError } from '../../kernel/errors.ts';
import { OracleUnavailable } from '../../pricing/pricing.ts';
import { BlobStoreUnavailable } from '../../storage/blobs/blobs.ts';
import { DiskNearlyFull } from '../../storage/disk-space.ts';
import { DatabaseUnavailable } from '../../storage/sql/sql.ts';
import { uploadErrors } from '../errors.ts';

const streamEnds = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED', 'ABORT_ERR']);

/** `id` names the item where it is known by then. */
export function explain(error: unknown, id = 'unknown'): unknown {
  if (error instanceof HttpError) return error;
  if (error instanceof OracleUnavailable) return uploadErrors.pricingUnavailable(error.retryAfter, error);
  if (error instanceof BlobStoreUnavailable) return uploadErrors.storeUnavailable(id, error);
  if (error instanceof DiskNearlyFull) return uploadErrors.diskNearlyFull(error);
  if (error instanceof DatabaseUnavailable) return uploadErrors.ledgerUnavailable(id, error);
  if (error instanceof Error && 'code' in error && streamEnds.has(String(error.code))) {
    return uploadErrors.cutShort();
  }
  return error;
}
