/**
 * The whole wiring: which surfaces there are, in which order they start, and what each is given. The local network
 * comes first, because the surfaces are told where the outside world is. Each is loaded when it is made.
 */
import type { Config } from '../config/config.ts';
import { ConsoleState } from '../console/state.ts';
import { createFork, type ForkInfo } from '../fork/fork.ts';
import { isCount, memberOf, textOf } from '../formats/json.ts';
import { isLoopbackHost } from '../kernel/http/loopback.ts';
import { urlHost } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';
import type { Surface } from '../kernel/part.ts';
import { hear } from '../kernel/workers/fellows.ts';
import type { ChainHead, ChainReaders } from '../localnet/arweave/readers.ts';
import { furnish } from './local/furnish.ts';
import { atItsTurn } from './stack/at-its-turn.ts';
import { consoleServices, ownKeysOf, routerAdminUrl } from './stack/console.ts';
import { forkLines, forkSurfaces } from './stack/fork.ts';
import { createLocalNetwork, type LocalNetwork, type NetworkFacts, standIns } from './stack/local-network.ts';
import { createStackModeration } from './stack/moderation.ts';
import { ServiceKeys } from './stack/service-keys.ts';
import { insistOnSharedKeys } from './stack/shared-keys.ts';
import { type SharedLedger, shareLedger } from './stack/shared-ledger.ts';
import { topUpPageOf } from './stack/top-up-page.ts';
import { version } from './version.ts';

/** For the table of addresses, in its order. */
const surfaceTable: readonly { readonly name: string; readonly what: string }[] = [
  { name: 'console', what: 'everything below, in a browser' },
  { name: 'gateway', what: 'chain reads, content, GraphQL' },
  { name: 'payment', what: 'prices, top-ups, balances, sharing, names' },
  { name: 'upload', what: 'data items in, receipts out, bundles to the chain' },
  { name: 'router', what: 'content from proven gateways, by id or name' },
];

/** What `turnpike start <name>…` takes. */
export const surfaceNames: readonly string[] = surfaceTable.map(({ name }) => name);

export interface Address {
  readonly name: string;
  readonly url: string;
  readonly what: string;
}

export interface Stack {
  /** In the order they start. */
  readonly surfaces: readonly Surface[];
  /** Known once all are started. */
  addresses(): Address[];
  /** The network that is read where this one has nothing; undefined where none is. */
  readonly fork: ForkInfo | undefined;
  /** The stand-ins that it started for the outside. */
  readonly network: LocalNetwork;
  /** Opened by the first that asks; closed with the stack. */
  readonly ledger: SharedLedger;
}

export interface StackOptions {
  /** Only these surfaces; all unless given. Of the local network what they use. */
  readonly only?: readonly string[];
  /** Of those, what other processes run; the local network that they use runs here. */
  readonly elsewhere?: Elsewhere;
  /** Stand-ins of the local network that another process runs. */
  readonly given?: NetworkFacts;
  /** The console's address, where another process runs it. */
  readonly consoleUrl?: string | undefined;
  /** Called, perhaps often, when the local chain is another one than the gateway indexed. */
  readonly onOtherChain?: () => void;
  /** What the console remembers, where it is to outlive the stack. */
  readonly consoleState?: ConsoleState;
}

export interface Elsewhere {
  readonly surfaces: readonly string[];
  /** By name, also of the router's admin page; empty until they are started. */
  readonly addresses: () => readonly Address[];
  /** Who there reads the chain of the local network. */
  readonly readers: ChainReaders;
}

/** What a worker is asked by the process that runs its local network. */
export const readerTopics = { mined: 'mined', accepted: 'accepted' } as const;

/** Surfaces with the local network they stand on. Nothing runs before `start`. */
export function createStack(config: Config, log: Logger, options: StackOptions = {}): Stack {
  const { only = surfaceNames, elsewhere, given, onOtherChain } = options;
  const { consoleState = new ConsoleState() } = options;
  const keys = new ServiceKeys(config, log);
  const fork = createFork(config, log);
  const readers: ChainReaders = {
    mined: async (head) => gateway.made?.caughtUp(head),
    accepted: async (transaction) => {
      await gateway.made?.takeIn(transaction).catch((error: unknown) => {
        log.warn({ err: error }, 'a transaction that the local node accepted could not be indexed');
      });
    },
  };
  if (given !== undefined) readForOthers(readers);
  const network = createLocalNetwork(config, log, only, given, fork, elsewhere?.readers ?? readers);
  /** Empty where it is not started, here or elsewhere. */
  const urlOf = ({ name, url }: Pick<Surface, 'name' | 'url'>): string =>
    url || (elsewhere?.addresses().find((address) => address.name === name)?.url ?? '');
  const ledger = shareLedger(async () =>
    (await import('./stack/ledger.ts')).openLedger(config, log, network),
  );

  /** Lines say which service of the process they are about. */
  const logOf = (service: string): Logger => log.child({ service });
  const needs = { config, keys, network };
  const here = only.filter((name) => elsewhere?.surfaces.includes(name) !== true);

  const uploadUrl = (): string | undefined =>
    upload.url || (baseOf(config.UPLOAD_URL) ?? (here.includes('upload') ? '' : undefined));
  const gateway = atItsTurn('gateway', async () => {
    const { makeGateway } = await import('./stack/gateway.ts');
    return makeGateway({
      ...needs,
      log: logOf('gateway'),
      ledger,
      uploadUrl,
      onOtherChain,
      fork,
    });
  });
  // The one of this process need not be asked by way of its public address.
  const gatewayUrl = (): string => urlOf(gateway) || publicGatewayUrl();
  const publicGatewayUrl = (): string =>
    baseOf(config.GATEWAY_URL) ?? (urlOf(gateway) || `http://${urlHost(config.HOST)}:${config.GATEWAY_PORT}`);
  const topUpPage = (address: string): string =>
    topUpPageOf(
      config,
      { console: webConsole.url || (options.consoleUrl ?? ''), payment: payment.url },
      address,
    );
  const payment = atItsTurn(
    'payment',
    async () => {
      const { makePayment } = await import('./stack/payment.ts');
      return makePayment({
        ...needs,
        log: logOf('payment'),
        ledger: await ledger.open(),
        gatewayUrl: publicGatewayUrl(),
        gatewayAt: gatewayUrl(),
        nameReaders: {
          gateway: () => gateway.made,
          router: () => router.made,
          gatewayUrl: publicGatewayUrl,
        },
        topUpPage,
      });
    },
    // The local provider is told where its webhooks go; Stripe's are set in its dashboard.
    async ({ url }) => network.used.deliverCards(`${url}/v1/stripe-webhook`),
  );
  const upload = atItsTurn('upload', async () => {
    const { makeUpload } = await import('./stack/upload.ts');
    return makeUpload({
      ...needs,
      log: logOf('upload'),
      ledger: await ledger.open(),
      gateway: { publicUrl: publicGatewayUrl(), adminUrl: gatewayUrl() },
      blocklist: moderation.listFor('upload'),
      topUpPage,
    });
  });
  const router = atItsTurn('router', async () => {
    const { createRouterSurface } = await import('../router/surface.ts');
    return createRouterSurface(config, {
      log: logOf('router'),
      version,
      localGatewayUrl: gatewayUrl,
      followed: () => moderation.listFor('router'),
    });
  });
  const webConsole = atItsTurn('console', async () => {
    const { createConsoleSurface } = await import('../console/surface.ts');
    const own = () => ({ payment: urlOf(payment), upload: urlOf(upload), router: urlOf(router) });
    const services = () => consoleServices(config, network, { ...own(), gateway: publicGatewayUrl() });
    return createConsoleSurface(config, {
      log: logOf('console'),
      version,
      services,
      reach: {
        // Those of this process need not be asked by way of their public addresses.
        services: () => ({ ...services(), ...started({ ...own(), gateway: gatewayUrl() }) }),
        routerAdmin: () => adminUrl() ?? routerAdminUrl(config),
        ownKeys: ownKeysOf(config),
      },
      state: consoleState,
    });
  });
  const adminUrl = (): string | undefined =>
    router.made?.adminUrl ?? (urlOf({ name: 'admin', url: '' }) || undefined);
  const moderation = createStackModeration({
    config,
    log,
    keys,
    surfaces: here,
    gateway: () => gateway.made,
  });

  // The console last: when it answers, so does what it shows.
  const all = [gateway, payment, upload, router, webConsole];
  const own = all.filter(({ name }) => here.includes(name));
  const listed = [
    ...own.filter(({ name }) => name === 'console'),
    ...network.surfaces,
    ...own.filter(({ name }) => name !== 'console'),
  ];
  return {
    surfaces: [
      ledgerAndKeys(
        ledger,
        keys,
        own.map(({ name }) => name),
      ),
      insistOnSharedKeys({ config, log, keys, surfaces: here }),
      ...forkSurfaces(fork),
      moderation,
      ...network.surfaces,
      // Where the local network runs.
      ...(config.WORLD === 'local' && given === undefined ? [walletsOf(config, network, ledger, only)] : []),
      ...own,
    ],
    addresses: () => [
      ...listed.map(({ name, url }) => addressOf(name, url, config)),
      ...(elsewhere?.addresses() ?? []),
      ...adminPage(router.made?.adminUrl),
      ...forkLines(fork),
    ],
    fork: fork?.info,
    network,
    ledger,
  };
}

/** Answers the process that runs the local network. */
function readForOthers(readers: ChainReaders): void {
  hear(readerTopics.mined, (head) => (isChainHead(head) ? readers.mined(head) : undefined));
  hear(readerTopics.accepted, (transaction) => readers.accepted(transaction));
}

const isChainHead = (value: unknown): value is ChainHead =>
  isCount(memberOf(value, 'height')) && textOf(value, 'id') !== undefined;

/** Without those that are not started here. */
const started = (urls: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(urls).filter(([, url]) => url !== ''));

/** Paths are put behind it. */
const baseOf = (url: string | undefined): string | undefined => url?.replace(/\/+$/, '');

/** Of the router, on a port of its own. */
const adminPage = (url: string | undefined): Address[] =>
  url === undefined ? [] : [{ name: 'admin', url, what: "the router's admin page" }];

/** A line of the table of addresses. */
export function addressOf(name: string, url: string, config: Config): Address {
  const standIn = standIns.find((one) => one.name === name);
  const what = (standIn ?? surfaceTable.find((one) => one.name === name))?.what ?? '';
  const host = config.LOCAL_NETWORK_HOST;
  const reach = standIn !== undefined && !isLoopbackHost(host) ? `, open to whoever reaches ${host}` : '';
  return { name, url, what: `${what}${name === 'solana' ? webSocketsOf(config) : ''}${reach}` };
}

/** Clients look for WebSockets on the next port; with a free port there is none. */
const webSocketsOf = ({ LOCAL_SOLANA_PORT: port }: Config): string =>
  port === 0 || port === 65_535 ? '' : ` (WebSockets also on port ${port + 1})`;

/** Before anybody can ask: whoever reaches a surface finds the wallets of the local network with money. */
function walletsOf(
  config: Config,
  network: LocalNetwork,
  ledger: SharedLedger,
  surfaces: readonly string[],
): Surface {
  return {
    name: 'wallets',
    url: '',
    async start() {
      const dealsInCredits = surfaces.some((name) => name === 'payment' || name === 'upload');
      await furnish(config.LOCAL_WALLETS, {
        network,
        ledger: dealsInCredits ? await ledger.open() : undefined,
      });
    },
    drain: async () => true,
    stop: async () => {},
  };
}

/** Started first, so stopped last: the database closes when everything that uses it has stopped. */
function ledgerAndKeys(ledger: SharedLedger, keys: ServiceKeys, surfaces: readonly string[]): Surface {
  return {
    name: 'ledger',
    url: '',
    async start() {
      // Making a key takes a second on the first start: others start meanwhile, and the one that needs it hears of a failure.
      if (surfaces.includes('payment') || surfaces.includes('upload')) keys.wallet().catch(() => {});
      if (surfaces.includes('upload')) keys.receipts().catch(() => {});
    },
    drain: async () => true,
    stop: () => ledger.close(),
  };
}
