/** The local network: each stand-in is there when a surface uses it and its real counterpart is not configured. */
import type { Config } from '../../config/config.ts';
import type { Fork } from '../../fork/fork.ts';
import { parseSolanaAddress, type SolanaAddress } from '../../formats/solana/address.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import { fellows, hear } from '../../kernel/workers/fellows.ts';
import type { LocalArweave } from '../../localnet/arweave/local-arweave.ts';
import type { ChainReaders } from '../../localnet/arweave/readers.ts';
import type { LocalCardProvider } from '../../localnet/card/local-card-provider.ts';
import type { LocalSolana } from '../../localnet/solana/local-solana.ts';
import type { LocalFacilitator } from '../../localnet/x402/local-facilitator.ts';
import { atItsTurn, type SurfaceAtItsTurn } from './at-its-turn.ts';
import { type OutsideName, standsIn } from './outside.ts';

/** What a process needs to know of the stand-ins that another runs; made to be sent to it. */
export interface NetworkFacts {
  /** Name and address. */
  readonly urls: readonly (readonly [OutsideName, string])[];
  readonly card: CardFacts | undefined;
  readonly facilitator: FacilitatorFacts | undefined;
}

type CardFacts = Pick<LocalCardProvider, 'url' | 'secretKey' | 'webhookSecret'>;
type FacilitatorFacts = Pick<LocalFacilitator, 'url' | 'payTo' | 'payeeKey' | 'rpcUrls'>;

/** What surfaces use of the stand-ins, wherever these run. */
export interface StandIns {
  /** Known once they are started. */
  readonly card: CardFacts | undefined;
  readonly facilitator: FacilitatorFacts | undefined;
  /** Nothing where there is no such stand-in, like the next. */
  fundArweave(address: string, winston: bigint): Promise<void>;
  fundSolana(address: SolanaAddress): Promise<void>;
  /** Where the card provider's webhooks go. */
  deliverCards(url: string): Promise<void>;
}

export interface LocalNetwork {
  readonly used: StandIns;
  /** For processes that share the stand-ins of this one. */
  facts(): NetworkFacts;
  /** In the order they start. */
  readonly surfaces: readonly Surface[];
  /** The stand-ins that run in this process; undefined until their turn to start came. */
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

/**
 * What the surfaces need of it; `facts` are about stand-ins that another process runs, `readers` are told of
 * what the chain has.
 */
export function createLocalNetwork(
  config: Config,
  log: Logger,
  surfaces: readonly string[],
  facts?: NetworkFacts,
  fork?: Fork,
  readers?: ChainReaders,
): LocalNetwork {
  const given = new Map(facts?.urls);
  /** Loaded when its turn comes. */
  const made = <S extends Surface>(
    name: OutsideName,
    load: () => Promise<(config: Config, deps: { log: Logger; fork: Fork | undefined }) => S>,
  ): SurfaceAtItsTurn<S> | undefined =>
    standsIn(name, config, surfaces) && !given.has(name)
      ? atItsTurn(name, async () => (await load())(config, { log, fork }))
      : undefined;
  const own = {
    arweave: made('arweave', async () => {
      const { createLocalArweave } = await import('../../localnet/arweave/local-arweave.ts');
      return (settings, deps) => createLocalArweave(settings, { ...deps, ...(readers && { readers }) });
    }),
    solana: made(
      'solana',
      async () => (await import('../../localnet/solana/local-solana.ts')).createLocalSolana,
    ),
    card: made(
      'card',
      async () => (await import('../../localnet/card/local-card-provider.ts')).createLocalCardProvider,
    ),
    x402: made(
      'x402',
      async () => (await import('../../localnet/x402/local-facilitator.ts')).createLocalFacilitator,
    ),
  };
  const urlsOf = (name: OutsideName, configured: readonly string[]): readonly string[] => {
    const local = given.get(name) ?? own[name]?.url;
    return configured.length > 0 || local === undefined ? configured : [local];
  };
  const card = (): CardFacts | undefined => facts?.card ?? own.card?.made;
  const facilitator = (): FacilitatorFacts | undefined => facts?.facilitator ?? own.x402?.made;
  const here: Pick<StandIns, 'fundArweave' | 'fundSolana' | 'deliverCards'> = {
    fundArweave: async (address, winston) => own.arweave?.made?.fund(address, winston),
    fundSolana: async (address) => own.solana?.made?.fund(address),
    deliverCards: async (url) => own.card?.made?.deliverTo(url),
  };
  return {
    used: {
      ...(facts === undefined ? here : elsewhere),
      get card() {
        return card();
      },
      get facilitator() {
        return facilitator();
      },
    },
    facts() {
      const [provider, payee] = [card(), facilitator()];
      return {
        urls: standIns.flatMap(({ name }) => {
          const url = given.get(name) ?? own[name]?.url;
          return url === undefined || url === '' ? [] : [[name, url] as const];
        }),
        card: provider && {
          url: provider.url,
          secretKey: provider.secretKey,
          webhookSecret: provider.webhookSecret,
        },
        facilitator: payee && {
          url: payee.url,
          payTo: payee.payTo,
          payeeKey: payee.payeeKey,
          rpcUrls: payee.rpcUrls,
        },
      };
    },
    surfaces: standIns.flatMap(({ name }): Surface[] => {
      const surface = own[name];
      const url = given.get(name);
      if (surface !== undefined) return [answersToTheEnd(name, surface)];
      return url !== undefined && standsIn(name, config, surfaces) ? [runsElsewhere(name, url)] : [];
    }),
    get arweave() {
      return own.arweave?.made;
    },
    get solana() {
      return own.solana?.made;
    },
    get card() {
      return own.card?.made;
    },
    get facilitator() {
      return own.x402?.made;
    },
    arweaveNodeUrls: () => urlsOf('arweave', config.ARWEAVE_NODE_URLS),
    solanaRpcUrls: () => urlsOf('solana', config.SOLANA_RPC_URL),
  };
}

const standInTopics = { arweave: 'fund arweave', solana: 'fund solana', card: 'deliver cards' } as const;

const standInMs = 60_000;

/** The stand-ins run in the first process. */
const elsewhere: Pick<StandIns, 'fundArweave' | 'fundSolana' | 'deliverCards'> = {
  async fundArweave(address, winston) {
    await fellows()?.ask(standInTopics.arweave, [address, winston], standInMs);
  },
  async fundSolana(address) {
    await fellows()?.ask(standInTopics.solana, address, standInMs);
  },
  async deliverCards(url) {
    await fellows()?.ask(standInTopics.card, url, standInMs);
  },
};

/** Lets the workers of this process use its stand-ins. */
export function lendStandIns({ used }: LocalNetwork): void {
  hear(standInTopics.arweave, (asked) => {
    if (!Array.isArray(asked) || typeof asked[1] !== 'bigint') throw new Error('an address and an amount');
    return used.fundArweave(String(asked[0]), asked[1]);
  });
  hear(standInTopics.solana, (address) => used.fundSolana(parseSolanaAddress(String(address))));
  hear(standInTopics.card, (url) => used.deliverCards(String(url)));
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
