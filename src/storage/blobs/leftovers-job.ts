/** Looks now and then for what writers that died left in a store that many share. */
import { createJob, type Job } from '../../kernel/background/job.ts';
import type { Logger } from '../../kernel/log.ts';
import type { BlobStore } from './blobs.ts';

const everyMs = 60 * 60 * 1_000;
/** Nobody writes one blob for so long. */
const abandonedAfterMs = 24 * 60 * 60 * 1_000;

/** None where a store needs no such job. */
export function leftoversJobs(store: BlobStore, log: Logger): Job[] {
  if (store.removeLeftovers === undefined) return [];
  let isTold = false;
  const run = async () => {
    const removed = await store.removeLeftovers?.(abandonedAfterMs);
    if (removed === 'refused') {
      if (!isTold)
        log.warn('the key of BLOB_STORE_URL may not list the bucket: a lifecycle rule has to expire tmp/');
      isTold = true;
    } else if (removed !== undefined && removed > 0) {
      log.info({ removed }, 'unfinished uploads were removed from the blob store');
    }
  };
  return [createJob({ name: 'remove unfinished blobs', everyMs, log, run })];
}
