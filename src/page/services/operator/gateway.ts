/** What the gateway's operator routes answer. Times are Unix seconds here. */

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

/** `GET bundle-status/{id}`, of the fields that are shown. */
export interface BundleStatus {
  readonly id: string;
  readonly rootTransactionId: string;
  readonly state: string;
  readonly lastError: string | null;
  readonly remark: string | null;
  readonly dataItemCount: number | null;
  readonly matchedDataItemCount: number | null;
  readonly duplicatedDataItemCount: number | null;
  readonly invalidDataItemCount: number | null;
  readonly prunedDataItemCount: number | null;
  readonly retryAttemptCount: number;
  readonly importAttemptCount: number;
  readonly lastQueuedAt: number | null;
  readonly lastSkippedAt: number | null;
  readonly lastUnbundledAt: number | null;
  readonly lastFullyIndexedAt: number | null;
  readonly lastRetriedAt: number | null;
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
  readonly schedule?: {
    readonly everyMinutes: number;
    readonly outputDir: string;
    readonly lastRunAt: string | null;
    readonly lastStatus: string;
    readonly nextRunAt: string;
    readonly error?: string;
  };
}

/** `GET indexes`. */
export interface IndexesState {
  readonly publication: null | {
    readonly publisher: string;
    readonly sequence: number;
    readonly issuedAt: string;
    readonly expiresAt: string;
    readonly indexes: readonly {
      readonly name: string;
      readonly kind: string;
      readonly bands: number;
      readonly files: number;
      readonly bytes: number;
      readonly records: number;
      readonly heights: readonly [number, number | null] | null;
    }[];
  };
  readonly isDamaged: boolean;
  readonly problems: readonly string[];
  readonly subscriptions: readonly {
    readonly publisher: string;
    readonly url: string;
    readonly names: readonly string[] | null;
    readonly lastLookAt: number | null;
    readonly outcome: string | null;
    readonly reason: string | null;
  }[];
  readonly bandsInUse: number;
}
