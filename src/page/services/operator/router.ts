/** What the router's operator routes answer; its own admin page asks them too. */

/** `GET status`. */
export interface RouterStatus {
  readonly version: string;
  readonly uptime: string;
  readonly draining: boolean;
  readonly problems: readonly string[];
  readonly mode: string;
  readonly baseDomain: string;
  readonly verificationEnabled: boolean;
  readonly verificationCount: number;
  readonly routingStrategy: string;
  readonly gateways: { readonly total: number; readonly healthy: number; readonly circuitOpen: number };
  readonly names: number;
  readonly cache: {
    readonly enabled: boolean;
    readonly entries: number;
    readonly sizeBytes: number;
    readonly maxSizeBytes: number;
    readonly evictions: number;
    readonly hits: number;
    readonly misses: number;
    readonly hitRate: number;
  };
}

/** `GET gateways`: `{ gateways }`. */
export interface RouterGateway {
  readonly gateway: string;
  readonly state: 'healthy' | 'half-open' | 'open' | 'paused' | 'quarantined';
  readonly routing: boolean;
  readonly verification: boolean;
  readonly latencyMs: number | null;
  readonly errorRate: number;
  readonly inFlight: number;
  readonly lastFailure: string | null;
}

/** `GET telemetry?range=`. */
export type RouterTelemetry =
  | { readonly enabled: false }
  | {
      readonly enabled: true;
      /** Hours, as ISO 8601 times that end with the hour. */
      readonly buckets: readonly string[];
      readonly gateways: readonly RouterGatewayFigures[];
      readonly series: readonly RouterGatewaySeries[];
    };

export interface RouterGatewayFigures {
  /** An origin, or `cache`. */
  readonly gateway: string;
  readonly totalRequests: number;
  readonly successRate: number;
  readonly errorRate: number;
  readonly verificationSuccessRate: number;
  readonly p50LatencyMs: number | null;
  readonly p95LatencyMs: number | null;
  readonly p99LatencyMs: number | null;
  readonly bytesServed: number;
}

export interface RouterGatewaySeries {
  readonly gateway: string;
  readonly points: readonly {
    readonly requests: number;
    readonly latencyMs: number | null;
    readonly errorRate: number | null;
  }[];
}

export const telemetryRanges = ['1h', '6h', '24h', '7d'] as const;
export type TelemetryRange = (typeof telemetryRanges)[number];

/** `GET moderation`. */
export type RouterModeration =
  | { readonly enabled: false }
  | {
      readonly enabled: true;
      readonly entries: readonly RouterBlock[];
      readonly audit: readonly RouterAuditLine[];
    };

export interface RouterBlock {
  readonly type: 'arns' | 'txid';
  readonly value: string;
  readonly reason: string;
  readonly blockedAt: string;
  readonly blockedBy: string;
  readonly resolvedTxId?: string;
}

export interface RouterAuditLine {
  readonly at: string;
  readonly surface: string;
  readonly who: string;
  readonly via: string;
  readonly action: string;
  readonly value?: string;
  readonly notes?: string;
  readonly given?: unknown;
  readonly result: string;
}

/** `GET names/{name}`: `{ name, ballots }`. */
export interface NameBallot {
  readonly gateway: string;
  readonly vote: { readonly id?: string; readonly reason?: string };
}

/** `GET config`: `{ variables }`. */
export interface RouterVariable {
  readonly group: string;
  readonly name: string;
  readonly meaning: string;
  readonly value: string;
  readonly isDefault: boolean;
}
