/**
 * The whole wiring: which parts there are, in which order they start, and what each is handed. The local
 * network comes first, because the surfaces are told where the outside world is.
 */
import type { Config } from '../config/config.ts';
import type { Logger } from '../kernel/log.ts';
import type { Surface } from '../kernel/surface.ts';
import { createLocalArweave } from '../localnet/arweave/index.ts';

/** What the parts started so far have made known to those that follow. */
interface World {
  readonly config: Config;
  readonly log: Logger;
  arweaveNodeUrls: readonly string[];
}

interface Part {
  readonly name: string;
  /** For the table of addresses. */
  readonly what: string;
  /** A part of the local network stands in for an outside world that is not configured. */
  readonly local: boolean;
  readonly wanted: (config: Config) => boolean;
  readonly create: (world: World) => Promise<Surface> | Surface;
  /** Called once it answers. */
  readonly started?: (world: World, surface: Surface) => void;
}

const parts: readonly Part[] = [
  {
    name: 'arweave',
    what: 'local Arweave node',
    local: true,
    wanted: (config) => config.ARWEAVE_NODE_URLS.length === 0,
    create: ({ config, log }) => createLocalArweave(config, { log }),
    started: (world, { url }) => {
      world.arweaveNodeUrls = [url];
    },
  },
];

/** What `turnpike start <name>…` takes. */
export const surfaceNames: readonly string[] = parts.filter((part) => !part.local).map((part) => part.name);

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

/** All surfaces, or only those named, with the local network they stand on. Nothing runs before `start`. */
export function createStack(config: Config, log: Logger, only: readonly string[] = []): Stack {
  const world: World = { config, log, arweaveNodeUrls: config.ARWEAVE_NODE_URLS };
  const wanted = parts.filter(
    (part) => part.wanted(config) && (part.local || only.length === 0 || only.includes(part.name)),
  );
  const surfaces = wanted.map((part) => madeAtStart(part, world));
  return {
    surfaces,
    addresses: () => wanted.map(({ name, what }, index) => ({ name, what, url: surfaces[index]?.url ?? '' })),
  };
}

/** A part is made when its turn comes: only then is known where those before it listen. */
function madeAtStart(part: Part, world: World): Surface {
  let surface: Surface | undefined;
  return {
    name: part.name,
    get url() {
      return surface?.url ?? '';
    },
    async start() {
      surface = await part.create({ ...world, log: world.log.child({ part: part.name }) });
      await surface.start();
      part.started?.(world, surface);
    },
    async drain(timeoutMs) {
      // The local network takes requests until the surfaces, which lean on it, are done.
      if (!part.local) await surface?.drain(timeoutMs);
    },
    async stop() {
      await surface?.stop();
    },
  };
}
