/**
 * The content router (interface §4.5): readers ask it by id or name; it picks gateways, agrees on names, proves
 * what it serves, keeps it, and goes on when gateways do not.
 *
 * - `request/`     what a host and path mean, who asks, how much they may
 * - `gateways/`    the gateways: where lists come from, health, choice, hedged asking
 * - `names/`       names by agreement of several gateways
 * - `content/`     proof, cache, streaming, manifests, answers
 * - `moderation/`  the blocklist
 * - `telemetry/`   figures about gateways
 * - `routes/`      management and content routes
 * - `admin/`       the operator's page on a port of its own
 *
 * It may call formats, wallets, kernel, storage and config; gateways, its own stack's included, are reached over
 * HTTP like any other.
 */
import type { Logger } from '../kernel/log.ts';

export { createRouterSurface, type RouterSurface } from './surface.ts';

export interface RouterDeps {
  readonly log: Logger;
  readonly version: string;
  /** The gateway of this stack, used where no other is configured; asked when the router starts. */
  readonly localGatewayUrl: () => string | undefined;
}
