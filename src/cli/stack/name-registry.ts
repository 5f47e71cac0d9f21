/** The chain of names, which the gateway and the payment server read. */
import type { Config } from '../../config/config.ts';
import { createNameChain } from '../../registry/chain.ts';
import { createNameRegistry } from '../../registry/name-registry.ts';
import { configuredPrograms } from '../../registry/programs.ts';

/** Undefined without nodes. The caller closes the chain. */
export function openNameRegistry(config: Config, urls: readonly string[]) {
  if (urls.length === 0) return undefined;
  const chain = createNameChain({ urls, timeoutMs: config.SOLANA_RPC_TIMEOUT_MS });
  return { chain, registry: createNameRegistry(chain, configuredPrograms(config)) };
}
