/** The bundle status record of interface §2, as the operator routes show it. */
import type { BundleStatus, QueuedBundle } from '../../formats/gateway-admin-answers.ts';
import type { Sql } from '../../storage/sql/sql.ts';

export async function bundleStatus(sql: Sql, id: string): Promise<BundleStatus | undefined> {
  const row = await sql.get<BundleStatus & { id: Buffer; rootTransactionId: Buffer }>(
    `SELECT id, root AS "rootTransactionId", format AS "formatId", unbundle_filter AS "unbundleFilterId",
       index_filter AS "indexFilterId", previous_unbundle_filter AS "previousUnbundleFilterId",
       previous_index_filter AS "previousIndexFilterId", data_item_count AS "dataItemCount",
       matched_count AS "matchedDataItemCount", duplicated_count AS "duplicatedDataItemCount",
       first_queued_at AS "firstQueuedAt", last_queued_at AS "lastQueuedAt",
       first_skipped_at AS "firstSkippedAt", last_skipped_at AS "lastSkippedAt",
       first_unbundled_at AS "firstUnbundledAt", last_unbundled_at AS "lastUnbundledAt",
       first_fully_indexed_at AS "firstFullyIndexedAt", last_fully_indexed_at AS "lastFullyIndexedAt",
       import_attempt_count AS "importAttemptCount", retry_attempt_count AS "retryAttemptCount",
       first_retried_at AS "firstRetriedAt", last_retried_at AS "lastRetriedAt",
       invalid_count AS "invalidDataItemCount", pruned_count AS "prunedDataItemCount",
       last_pruned_at AS "lastPrunedAt", remark, state, last_error AS "lastError"
     FROM bundles WHERE id = ?`,
    Buffer.from(id, 'base64url'),
  );
  if (row === undefined) return undefined;
  return {
    ...row,
    id: row.id.toString('base64url'),
    rootTransactionId: row.rootTransactionId.toString('base64url'),
  };
}

/** In the order in which they are taken; of those that failed, the one that failed last comes first. */
export async function listBundles(
  sql: Sql,
  state: QueuedBundle['state'],
  limit: number,
): Promise<QueuedBundle[]> {
  const order = state === 'failed' ? 'priority DESC, next_try_at DESC' : 'priority, next_try_at';
  const rows = await sql.all<QueuedBundle & { id: Buffer; rootTransactionId: Buffer }>(
    `SELECT id, root AS "rootTransactionId", depth, state, last_error AS "lastError",
       retry_attempt_count AS "retryAttemptCount", last_queued_at AS "lastQueuedAt", next_try_at AS "nextTryAt"
     FROM bundles WHERE state = ? ORDER BY ${order} LIMIT ?`,
    state,
    limit,
  );
  return rows.map((row) => ({
    ...row,
    id: row.id.toString('base64url'),
    rootTransactionId: row.rootTransactionId.toString('base64url'),
  }));
}
