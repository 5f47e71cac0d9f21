/** The local network: each stand-in is there when a surface uses it and its real counterpart is not configured. */
import type { Config } from '../../config/config.ts';
import type { Fork } from '../../fork/fork.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import { createLocalArweave, type LocalArweave } from '../../localnet/arweave/local-arweave.ts';
import { createLocalCardProvider, type LocalCardProvider } from '../../localnet/card/local-card-provider.ts';
import { createLocalSolana, type LocalSolana } from '../../localnet/solana/local-solana.ts';
import { createLocalFacilitator, type LocalFacilitator } from '../../localnet/x402/local-facilitator.ts';
import { type OutsideName, standsIn } from './outside.ts';

export interface LocalNetwork {
  /** In the order they start. */
  readonly surfaces: readonly Surface[];
  /** The stand-ins that run in this process. */
  readonly arweave: LocalArweave | undefined;
  readonly solana: LocalSolana | undefined;
  readonly card: LocalCardProvider | undefined;
  readonly facilitator: LocalFacilitator | undefined;
  /** The configured Arweave nodes, or the local one; known once it is started, like the next. */
  arweaveNodeUrls(): readonly string[];
  /** The configured Solana nodes, or the local ledger. */
  solanaRpcUrls(): readonly string[];
}

/** For the table of addresses, in the order they start. */
export const standIns: readonly { readonly name: OutsideName; readonly what: string }[] = [
  { name: 'arweave', what: 'local Arweave node' },
  { name: 'solana', what: 'local Solana ledger with the name programs' },
  { name: 'card', what: 'local card provider' },
  { name: 'x402', what: 'local x402 facilitator' },
];

/** What the surfaces need of it; `given` are the addresses of stand-ins that another process runs. */
export function createLocalNetwork(
  config: Config,
  log: Logger,
  surfaces: readonly string[],
  given: ReadonlyMap<string, string> = new Map(),
  fork?: Fork,
): LocalNetwork {
  const made = <S>(
    name: OutsideName,
    create: (config: Config, deps: { log: Logger; fork: Fork | undefined }) => S,
  ): S | undefined =>
    standsIn(name, config, surfaces) && !given.has(name) ? create(config, { log, fork }) : undefined;
  const arweave = made('arweave', createLocalArweave);
  const solana = made('solana', createLocalSolana);
  const card = made('card', createLocalCardProvider);
  const facilitator = made('x402', createLocalFacilitator);
  const own = { arweave, solana, card, x402: facilitator };
  const urlsOf = (name: OutsideName, configured: readonly string[]): readonly string[] => {
    const local = given.get(name) ?? own[name]?.url;
    return configured.length > 0 || local === undefined ? configured : [local];
  };
  return {
    surfaces: standIns.flatMap(({ name }): Surface[] => {
      const surface = own[name];
      const url = given.get(name);
      if (surface !== undefined) return [answersToTheEnd(name, surface)];
      return url !== undefined && standsIn(name, config, surfaces) ? [runsElsewhere(name, url)] : [];
    }),
    arweave,
    solana,
    card,
    facilitator,
    arweaveNodeUrls: () => urlsOf('arweave', config.ARWEAVE_NODE_URLS),
    solanaRpcUrls: () => urlsOf('solana', config.SOLANA_RPC_URL),
  };
}

/** It takes requests until the surfaces, which lean on it, are done. */
const answersToTheEnd = (name: OutsideName, surface: Surface): Surface => ({
  name,
  get url() {
    return surface.url;
  },
  start: () => surface.start(),
  drain: async () => true,
  stop: () => surface.stop(),
});

const runsElsewhere = (name: OutsideName, url: string): Surface => ({
  name,
  url,
  start: async () => {},
  drain: async () => true,
  stop: async () => {},
});
