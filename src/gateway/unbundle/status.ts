/** The bundle status record of interface §2, as the operator routes show it. */
import type { Sql } from '../../storage/sql/sql.ts';

export interface BundleStatus {
  readonly id: string;
  readonly rootTransactionId: string;
  /** 1 = ANS-104. */
  readonly formatId: number;
  readonly unbundleFilterId: number | null;
  readonly indexFilterId: number | null;
  readonly previousUnbundleFilterId: number | null;
  readonly previousIndexFilterId: number | null;
  readonly dataItemCount: number | null;
  readonly matchedDataItemCount: number | null;
  readonly duplicatedDataItemCount: number | null;
  readonly firstQueuedAt: number | null;
  readonly lastQueuedAt: number | null;
  readonly firstSkippedAt: number | null;
  readonly lastSkippedAt: number | null;
  readonly firstUnbundledAt: number | null;
  readonly lastUnbundledAt: number | null;
  readonly firstFullyIndexedAt: number | null;
  readonly lastFullyIndexedAt: number | null;
  readonly importAttemptCount: number;
  readonly retryAttemptCount: number;
  readonly firstRetriedAt: number | null;
  readonly lastRetriedAt: number | null;
  /** Beyond the record: items that were broken or wrongly signed, where the bundle stands, and why. */
  readonly invalidDataItemCount: number | null;
  readonly state: string;
  readonly lastError: string | null;
}

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
       invalid_count AS "invalidDataItemCount", state, last_error AS "lastError"
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
