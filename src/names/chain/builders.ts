/** What instructions are built with: the programs, and the service that pays. */
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { type AntBuilder, antBuilder } from '../../formats/solana/instructions-ant.ts';
import { type ArnsBuilder, arnsBuilder } from '../../formats/solana/instructions-arns.ts';
import type { NamePrograms } from '../../formats/solana/programs.ts';
import type { NameRegistry } from '../../registry/name-registry.ts';

export interface Builders {
  readonly programs: NamePrograms;
  readonly arns: ArnsBuilder;
  readonly ant: AntBuilder;
  readonly service: SolanaAddress;
}

/** Reads the registry's config once: asked until the chain answers, then kept. */
export function createBuilders(registry: NameRegistry, service: SolanaAddress): () => Promise<Builders> {
  const { programs } = registry;
  let builders: Promise<Builders> | undefined;
  const read = async (): Promise<Builders> => {
    const { treasury } = await registry.config();
    return { programs, arns: arnsBuilder(programs, treasury), ant: antBuilder(programs), service };
  };
  return () => {
    builders ??= read().catch((error: unknown) => {
      builders = undefined;
      throw error;
    });
    return builders;
  };
}
