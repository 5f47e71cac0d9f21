/** What the wiring is made of: parts that start one after the other, and the world they find. */
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import type { LocalCardProvider } from '../../localnet/card/index.ts';
import type { LocalSolana } from '../../localnet/solana/index.ts';
import type { LocalFacilitator } from '../../localnet/x402/index.ts';
import type { RouterSurface } from '../../router/surface.ts';
import type { Ledger } from './ledger.ts';
import type { ServiceKeys } from './service-keys.ts';

/** What the parts started so far have made known to those that follow. */
export interface World {
  readonly config: Config;
  readonly log: Logger;
  readonly keys: ServiceKeys;
  /** Base addresses of the surfaces by name; each is known once it has started. */
  readonly urls: Map<string, string>;
  /** The configured nodes, or the local one. */
  arweaveNodeUrls: readonly string[];
  /** The local stand-ins, where the real thing is not configured. */
  localSolana?: LocalSolana;
  localCard?: LocalCardProvider;
  localFacilitator?: LocalFacilitator;
  /** Has a second address, the operator's page. */
  router?: RouterSurface;
  /** This process is one of several of its surface. */
  readonly sharesPort: boolean;
  /** Opened by the first surface that deals in credits. */
  ledger?: Promise<Ledger>;
}

export interface Part {
  readonly name: string;
  /** For the table of addresses. */
  readonly what: string;
  /** A part of the local network stands in for an outside world that is not configured. */
  readonly local: boolean;
  /** Whether it is started, where these surfaces are asked for. */
  readonly wanted: (config: Config, surfaces: readonly string[]) => boolean;
  readonly create: (world: World) => Promise<Surface> | Surface;
  /** Called once it answers. */
  readonly started?: (world: World) => Promise<void> | void;
}
