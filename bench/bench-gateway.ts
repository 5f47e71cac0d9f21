/** A gateway of a measurement's own, without an upload surface or names beside it. */
import type { Config } from '../src/config/config.ts';
import { openContentCache } from '../src/gateway/content/part.ts';
import { createGateway, type GatewayDeps } from '../src/gateway/surface.ts';
import { createLogger } from '../src/kernel/log.ts';
import { createSurface } from '../src/kernel/part.ts';

export async function createBenchGateway(config: Config, deps: Partial<GatewayDeps> = {}) {
  const made = await createGateway(config, {
    log: createLogger({ name: 'bench', level: 'silent', format: 'json' }),
    nodeUrls: [],
    release: 'bench',
    cache: deps.cache ?? (await openContentCache(config)),
    uploadUrl: () => undefined,
    names: [],
    adminKey: 'bench',
    ...deps,
  });
  const surface = createSurface('gateway', () => made);
  return { ...made, surface };
}
