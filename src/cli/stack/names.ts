/** Names: the chain they live on, and the part of the payment server that sells them. */
import type { Config } from '../../config/config.ts';
import type { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { SolanaKey } from '../../names/chain/service-key.ts';
import { createNames, type Names } from '../../names/part.ts';
import { createNameChain, type NameChain } from '../../registry/chain.ts';
import { createNameRegistry, type NameRegistry } from '../../registry/name-registry.ts';
import { configuredPrograms } from '../../registry/programs.ts';
import type { Ledger } from './ledger.ts';
import type { LocalNetwork } from './local-network.ts';

export interface OpenRegistry {
  readonly chain: NameChain;
  readonly registry: NameRegistry;
}

/** Undefined without nodes. The caller closes the chain. */
export function openNameRegistry(config: Config, urls: readonly string[]): OpenRegistry | undefined {
  if (urls.length === 0) return undefined;
  const chain = createNameChain({ urls, timeoutMs: config.SOLANA_RPC_TIMEOUT_MS });
  return { chain, registry: createNameRegistry(chain, configuredPrograms(config)) };
}

export interface NamesNeeds {
  readonly log: Logger;
  readonly network: LocalNetwork;
  readonly ledger: Ledger;
  readonly signatures: RequestSignatures;
  /** Pays for names and buys them. */
  readonly key: SolanaKey;
}

export async function makeNames(config: Config, needs: NamesNeeds): Promise<Names> {
  const { log, network, ledger, signatures, key } = needs;
  const { sql, credits, pricing, metrics, cards } = ledger;
  // The local ledger gives the key that sells names its first lamports and tokens.
  await network.solana?.fund(key.address);
  const opened = openNameRegistry(config, network.solanaRpcUrls());
  if (opened === undefined) throw new StartupError('SOLANA_RPC_URL must be set, or NAMES_ENABLED to false');
  const { chain, registry } = opened;
  const names = createNames(config, {
    log: log.child({ part: 'names' }),
    metrics,
    sql,
    credits,
    pricing,
    signatures,
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
