import type { Config } from '../../config/config.ts';
import type { Logger } from '../../kernel/log.ts';
import type { LocalNetwork } from './local-network.ts';
import type { ServiceKeys } from './service-keys.ts';

/** What each surface is made with. */
export interface SurfaceNeeds {
  readonly config: Config;
  readonly log: Logger;
  readonly keys: ServiceKeys;
  readonly network: LocalNetwork;
}
