/** Where a name works, as `GET /v1/arns/where/{name}` answers it. */
export interface GatewayView {
  readonly gateway: string;
  /** Silent: it did not say. */
  readonly state: 'current' | 'stale' | 'silent';
  readonly target: string | null;
  readonly ttlSeconds?: number;
  readonly resolvedAt?: string;
  /** Until it asks again, as far as it tells. */
  readonly secondsLeft?: number;
  /** Of a cache in between. */
  readonly ageSeconds?: number;
  readonly problem?: string;
}

export interface WhereAnswer {
  readonly name: string;
  /** What the chain says; null: it points nowhere. */
  readonly target: string | null;
  readonly ttlSeconds?: number;
  readonly antId?: string;
  readonly readAt: string;
  readonly gateways: GatewayView[];
  /** Of those that show something else. */
  readonly stale: string[];
}
