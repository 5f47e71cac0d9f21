/**
 * The whole wiring: which parts there are, in which order they start, and what each is handed. The local
 * network comes first, because the surfaces are told where the outside world is.
 */
import type { Config } from '../config/config.ts';
import type { Logger } from '../kernel/log.ts';
import type { Surface } from '../kernel/part.ts';
import { localParts } from './stack/local-parts.ts';
import type { Part, World } from './stack/part.ts';
import { ServiceKeys } from './stack/service-keys.ts';
import { surfaceParts } from './stack/surface-parts.ts';

/** What `turnpike start <name>…` takes. */
export const surfaceNames: readonly string[] = surfaceParts.map((part) => part.name);

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
}

export interface StackOptions {
  /** Only these surfaces; all unless given. Of the local network what they use. */
  readonly only?: readonly string[];
  /** Of those, only the local network that they use: other processes run the surfaces themselves. */
  readonly localOnly?: boolean;
  /** Where parts of the local network listen that another process runs. */
  readonly given?: ReadonlyMap<string, string>;
  /** This process is one of several of its surface. */
  readonly sharesPort?: boolean;
}

/** Surfaces with the local network they stand on. Nothing runs before `start`. */
export function createStack(config: Config, log: Logger, options: StackOptions = {}): Stack {
  const { only = surfaceNames, localOnly = false, given, sharesPort = false } = options;
  const world: World = {
    config,
    log,
    keys: new ServiceKeys(config, log),
    urls: new Map(given),
    arweaveNodeUrls: config.ARWEAVE_NODE_URLS,
    sharesPort,
  };
  const parts = localOnly ? localParts : [...localParts, ...surfaceParts];
  const wanted = parts.filter((part) => part.wanted(config, only));
  return {
    // The database opens when first used and closes when everything that uses it has stopped.
    surfaces: [
      ledgerAndKeys(world, localOnly ? [] : only),
      ...wanted.map((part) =>
        given?.has(part.name) ? runsElsewhere(part, world) : madeAtStart(part, world),
      ),
    ],
    addresses: () => [
      ...wanted.map((part) => addressOf(part.name, world.urls.get(part.name) ?? '', config)),
      ...adminPage(world),
    ],
  };
}

/** Of the router, on a port of its own. */
function adminPage({ router }: World): Address[] {
  const url = router?.adminUrl;
  if (url === undefined) return [];
  return [{ name: 'admin', url, what: "the router's admin page" }];
}

/** A line of the table of addresses. */
export function addressOf(name: string, url: string, config: Config): Address {
  const part = [...localParts, ...surfaceParts].find((one) => one.name === name);
  const host = config.LOCAL_NETWORK_HOST;
  const reach = part?.local && !isLoopback(host) ? `, open to whoever reaches ${host}` : '';
  return { name, url, what: `${part?.what ?? ''}${reach}` };
}

const isLoopback = (host: string): boolean => /^(127\.|::1$|localhost$)/.test(host);

/** A part is made when its turn comes: only then is known where those before it listen. */
function madeAtStart(part: Part, world: World): Surface {
  let surface: Surface | undefined;
  return {
    name: part.name,
    get url() {
      return surface?.url ?? '';
    },
    async start() {
      surface = await part.create(world);
      await surface.start();
      world.urls.set(part.name, surface.url);
      await part.started?.(world);
    },
    async drain(timeoutMs) {
      // The local network takes requests until the surfaces, which lean on it, are done.
      return part.local || ((await surface?.drain(timeoutMs)) ?? true);
    },
    async stop() {
      await surface?.stop();
    },
  };
}

function runsElsewhere(part: Part, world: World): Surface {
  return {
    name: part.name,
    url: world.urls.get(part.name) ?? '',
    start: async () => part.started?.(world),
    drain: async () => true,
    async stop() {},
  };
}

/** Started first, so stopped last. */
function ledgerAndKeys(world: World, surfaces: readonly string[]): Surface {
  return {
    name: 'ledger',
    url: '',
    async start() {
      // Making a wallet takes a second on the first start: others start meanwhile, and who needs it is told of a failure.
      if (surfaces.includes('payment') || surfaces.includes('upload')) world.keys.wallet().catch(() => {});
      if (surfaces.includes('upload')) world.keys.receipts().catch(() => {});
    },
    drain: async () => true,
    async stop() {
      // One that could not be opened has told so to who asked for it.
      await (await world.ledger?.catch(() => undefined))?.sql.close();
    },
  };
}
