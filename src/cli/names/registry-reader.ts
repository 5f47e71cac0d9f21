/** Names as they stand on the chain, for commands. */
import type { Config } from '../../config/config.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { StartupError } from '../../kernel/errors.ts';
import { createNameChain } from '../../registry/chain.ts';
import { createNameRegistry, type NameRegistry } from '../../registry/name-registry.ts';
import { configuredPrograms } from '../../registry/programs.ts';
import { serviceUrl } from '../service-url.ts';

/** Asks the configured chain, else the ledger of the network that runs here. */
export async function withRegistry<T>(
  config: Config,
  work: (registry: NameRegistry) => Promise<T>,
): Promise<T> {
  const urls = config.SOLANA_RPC_URL.length > 0 ? config.SOLANA_RPC_URL : [serviceUrl(config, 'solana')];
  const chain = createNameChain({ urls, timeoutMs: config.SOLANA_RPC_TIMEOUT_MS });
  try {
    return await work(createNameRegistry(chain, configuredPrograms(config)));
  } catch (error) {
    if (error instanceof StartupError) throw error;
    throw new StartupError(`the name chain at ${urls.join(', ')} does not answer`, { cause: error });
  } finally {
    await chain.close();
  }
}

/** The token of a registered name. */
export async function tokenOf(registry: NameRegistry, name: string): Promise<SolanaAddress> {
  const { record } = await registry.name(name);
  if (record === undefined) throw new StartupError(`nobody has the name ${name}: turnpike name buy ${name}`);
  return record.ant;
}
