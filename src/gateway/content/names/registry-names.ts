/** Names as they stand on the chain. */
import type { NameRegistry } from '../../../registry/name-registry.ts';
import type { NameSource } from './resolver.ts';

export function namesOfRegistry(registry: NameRegistry): NameSource {
  return {
    name: 'registry',
    async resolve(name, undername) {
      const found = await registry.resolve(name, undername);
      if (found === undefined || found.protocol !== 'arweave') return undefined;
      return {
        id: found.target,
        ttlSeconds: found.ttlSeconds,
        antId: found.antId,
        antProgramId: registry.antProgram,
        undernameLimit: found.undernameLimit,
        recordIndex: found.recordIndex,
      };
    },
  };
}
