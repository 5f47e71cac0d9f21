/** Names: the chain they live on, and the door of the payment server that sells them. */

import type { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import { createNames } from '../../names/part.ts';
import type { CardPayments } from '../../payments/card/card.ts';
import { createNameChain, type NameChain } from '../../registry/chain.ts';
import { createNameRegistry, type NameRegistry } from '../../registry/name-registry.ts';
import { configuredPrograms } from '../../registry/programs.ts';
import type { Ledger } from './ledger.ts';
import type { World } from './part.ts';

export interface OpenRegistry {
  readonly chain: NameChain;
  readonly registry: NameRegistry;
}

/** The configured Solana nodes, or the local ledger. */
export function solanaNodes({ config, urls }: World): readonly string[] {
  const local = urls.get('solana');
  return config.SOLANA_RPC_URL.length > 0 || local === undefined ? config.SOLANA_RPC_URL : [local];
}

/** Undefined without nodes. Whoever opens it closes the chain. */
export function openNameRegistry(world: World): OpenRegistry | undefined {
  const { config } = world;
  const urls = solanaNodes(world);
  if (urls.length === 0) return undefined;
  const chain = createNameChain({ urls, timeoutMs: config.SOLANA_RPC_TIMEOUT_MS });
  return { chain, registry: createNameRegistry(chain, configuredPrograms(config)) };
}

export async function createNamesDoor(
  world: World,
  ledger: Pick<Ledger, 'sql' | 'credits' | 'pricing'> & { readonly signatures: RequestSignatures },
  metrics: Metrics,
  cards?: CardPayments,
): Promise<Part> {
  const key = await world.keys.solana();
  // The local ledger gives the key that sells names its first lamports and tokens.
  await world.localSolana?.fund(key.address);
  const opened = openNameRegistry(world);
  if (opened === undefined) throw new StartupError('SOLANA_RPC_URL must be set, or NAMES_ENABLED to false');
  const { chain, registry } = opened;
  const names = createNames(world.config, {
    log: world.log.child({ part: 'names' }),
    metrics,
    sql: ledger.sql,
    credits: ledger.credits,
    pricing: ledger.pricing,
    signatures: ledger.signatures,
    chain,
    registry,
    key,
    ...(cards !== undefined && { cards }),
  });
  return {
    ...names,
    async stop() {
      await names.stop();
      await chain.close();
    },
  };
}
