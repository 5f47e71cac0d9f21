/** The parts of the router, as its routes see them. */
import type { Logger } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { BlobCache } from '../storage/blobs/cache/cache.ts';
import type { Content } from './content/content.ts';
import type { KnownStore } from './content/known.ts';
import type { Serve } from './content/serve.ts';
import type { GatewaySet } from './gateways/gateway-set.ts';
import type { RouterMetrics } from './metrics.ts';
import type { Blocklist } from './moderation/blocklist.ts';
import type { NameResolver } from './names/resolver.ts';
import type { RouterSettings } from './settings.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

export interface RouterParts {
  readonly settings: RouterSettings;
  readonly log: Logger;
  readonly version: string;
  readonly startedAt: number;
  readonly metrics: Metrics;
  readonly figures: RouterMetrics;
  readonly gateways: GatewaySet;
  readonly names: NameResolver;
  readonly content: Content;
  readonly known: KnownStore;
  /** Opened at start. */
  readonly cache: BlobCache | undefined;
  readonly serve: Serve;
  readonly telemetry: Telemetry | undefined;
  readonly blocklist: Blocklist | undefined;
  /** True once the router takes no new work. */
  readonly draining: () => boolean;
  readonly moderationToken: () => string;
}
