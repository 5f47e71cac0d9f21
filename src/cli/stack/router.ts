/** The router as it is put together here. */
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../kernel/log.ts';
import { createRouterSurface, type RouterSurface } from '../../router/surface.ts';
import { version } from '../version.ts';

export interface RouterNeeds {
  readonly log: Logger;
  readonly localGatewayUrl: () => string;
}

export function makeRouter(config: Config, { log, localGatewayUrl }: RouterNeeds): RouterSurface {
  return createRouterSurface(config, { log, version, localGatewayUrl });
}
