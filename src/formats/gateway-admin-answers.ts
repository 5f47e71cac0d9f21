/**
 * What the operator's routes of the gateway (`/gw/admin`) answer, beside what all surfaces do (`admin-answers.ts`): the
 * gateway writes it and the console reads it. Times are Unix seconds here.
 */

/** `GET debug`. */
export interface GatewayDebug {
  readonly db: {
    readonly counts: Readonly<Record<string, number>>;
    readonly heights: Readonly<Record<string, number>>;
    readonly timestamps: Readonly<Record<string, number>>;
    readonly errors: readonly string[];
    readonly warnings: readonly string[];
  };
  readonly queues: {
    readonly bundles: number;
    readonly askedTransactions: number;
    readonly missingTransactions: number;
  };
  readonly chain: {
    readonly height: number;
    readonly stableHeight: number;
    readonly behind: number;
    readonly nodes: readonly GatewayNode[];
  };
  readonly blocks: Readonly<Record<string, number>>;
  readonly config: {
    readonly engine: string;
    readonly startWriters: boolean;
    readonly unbundleFilter: unknown;
    readonly indexFilter: unknown;
  };
}

export interface GatewayNode {
  readonly url: string;
  readonly healthy: boolean;
  readonly height: number;
}

/** `GET bundles?state=`: `{ bundles }`. */
export interface QueuedBundle {
  readonly id: string;
  readonly rootTransactionId: string;
  readonly depth: number;
  readonly state: 'failed' | 'queued' | 'running';
  readonly lastError: string | null;
  readonly retryAttemptCount: number;
  readonly lastQueuedAt: number | null;
  readonly nextTryAt: number;
}

/** `GET bundle-status/{id}` (interface §2); beyond the record where the bundle stands, why, and what was pruned of it. */
export interface BundleStatus {
  readonly id: string;
  readonly rootTransactionId: string;
  readonly formatId: number;
  readonly unbundleFilterId: number | null;
  readonly indexFilterId: number | null;
  readonly previousUnbundleFilterId: number | null;
  readonly previousIndexFilterId: number | null;
  readonly state: string;
  readonly lastError: string | null;
  /** What is odd about it and cost none of its items. */
  readonly remark: string | null;
  readonly dataItemCount: number | null;
  readonly matchedDataItemCount: number | null;
  readonly duplicatedDataItemCount: number | null;
  readonly invalidDataItemCount: number | null;
  readonly prunedDataItemCount: number | null;
  readonly retryAttemptCount: number;
  readonly importAttemptCount: number;
  readonly firstQueuedAt: number | null;
  readonly lastQueuedAt: number | null;
  readonly firstSkippedAt: number | null;
  readonly lastSkippedAt: number | null;
  readonly firstUnbundledAt: number | null;
  readonly lastUnbundledAt: number | null;
  readonly firstFullyIndexedAt: number | null;
  readonly lastFullyIndexedAt: number | null;
  readonly firstRetriedAt: number | null;
  readonly lastRetriedAt: number | null;
  readonly lastPrunedAt: number | null;
}

export interface Block {
  readonly what: string;
  readonly blockedAt: number;
  readonly source?: string;
  readonly notes?: string;
}

/** `GET blocks`. */
export interface Blocks {
  readonly ids: readonly Block[];
  readonly hashes: readonly Block[];
  readonly names: readonly Block[];
}

/** What a block or its end answers. */
export interface BlockAnswer {
  readonly message: string;
  /** Who else obeys the list, and within which time. */
  readonly obeyedBy: readonly string[];
}

/** `GET audit`: `{ lines }`, on every surface. */
export interface AuditLine {
  readonly at: string;
  readonly surface: string;
  readonly who: string;
  readonly via: string;
  readonly from?: string;
  readonly action: string;
  readonly kind?: string;
  readonly value?: string;
  readonly source?: string;
  readonly notes?: string;
  readonly given?: unknown;
  readonly result: string;
}

/** `GET export-parquet/status`. */
export interface ExportStatus {
  readonly status: 'not_started' | 'running' | 'completed' | 'errored' | 'cancelled';
  readonly jobId?: string;
  readonly outputDir?: string;
  readonly startHeight?: number;
  readonly endHeight?: number;
  readonly stableHeight?: number;
  readonly exportedToHeight?: number | null;
  readonly durationInSeconds?: number;
  readonly endTime?: string;
  readonly error?: string;
  readonly scheduled?: boolean;
  readonly partitionsDone?: number;
  readonly partitions?: number;
  readonly rows?: Readonly<Record<string, number>>;
  readonly files?: number;
  readonly schedule?: ScheduleState;
}

/** An export that is made again and again: ISO dates, and how the last one ended. */
export interface ScheduleState {
  readonly everyMinutes: number;
  readonly outputDir: string;
  readonly lastRunAt: string | null;
  readonly lastStatus: ExportStatus['status'];
  readonly nextRunAt: string;
  readonly error?: string;
}

/** `GET indexes`. */
export interface IndexesState {
  /** Null while nothing is published. */
  readonly publication: PublicationState | null;
  /** There is a document, which cannot be served. */
  readonly isDamaged: boolean;
  readonly problems: readonly string[];
  readonly subscriptions: readonly SubscriptionState[];
  /** Bands of others that content is found with. */
  readonly bandsInUse: number;
}

export interface PublicationState {
  readonly publisher: string;
  readonly sequence: number;
  readonly issuedAt: string;
  readonly expiresAt: string;
  readonly indexes: readonly IndexState[];
}

export interface IndexState {
  readonly name: string;
  readonly kind: string;
  readonly bands: number;
  readonly files: number;
  readonly bytes: number;
  readonly records: number;
  /** Of the lowest and the highest band; null where no band says. The second is null too while the top band is open. */
  readonly heights: readonly [number, number | null] | null;
}

export interface SubscriptionState {
  readonly publisher: string;
  readonly url: string;
  /** Only these indexes; null for all. */
  readonly names: readonly string[] | null;
  /** Unix milliseconds; null before the first look. */
  readonly lastLookAt: number | null;
  readonly outcome: string | null;
  readonly reason: string | null;
}

/** `GET why/{id}`. */
export interface IdExplanation {
  readonly id: string;
  readonly indexed: boolean;
  /** What became of it as a bundle, or of the bundle that it should be in; null where neither is known. */
  readonly bundle: BundleStatus | null;
  /** Sentences, the weightiest first. */
  readonly why: readonly string[];
}
