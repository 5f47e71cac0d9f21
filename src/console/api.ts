/** What the page and its server say to each other, as types alone: both import this file. */

/** Whose addresses the page may know. `arweave`, `solana`, `card` and `x402` are parts of the local network. */
export type ServiceName =
  | 'gateway'
  | 'payment'
  | 'upload'
  | 'router'
  | 'arweave'
  | 'solana'
  | 'card'
  | 'x402';

/** `GET /api/settings` */
export interface ConsoleSettings {
  readonly version: string;
  readonly world: 'local' | 'testnet' | 'public';
  /** Base addresses without a slash at their end, as the browser that asks reaches them. */
  readonly services: Readonly<Partial<Record<ServiceName, string>>>;
  /** Below it every id has an origin of its own: `http://{label}.localhost:4000`. */
  readonly sandbox: string | undefined;
  /** Below it every name has an origin of its own at the router: `http://{label}.localhost:3000`. */
  readonly routerHosts: string | undefined;
  /** Whether the local network that is behind these services can be controlled through `/api/local`. */
  readonly controlsLocalNetwork: boolean;
}

/** Services that an operator has a key for. */
export type OperatorService = 'gateway' | 'payment' | 'upload' | 'router';

/** What is known of a service by asking it. */
export interface ServiceState {
  /** It answers. */
  readonly up: boolean;
  /** Why it is not well, in its own words. */
  readonly problems: readonly string[];
  /** Undefined: it does not tell. */
  readonly version?: string | undefined;
}

/**
 * `GET /api/live`, as `event: state` about every two seconds. What is undefined no service tells: figures of services that
 * are away, or that are not Turnpike's. Nothing in it is secret.
 */
export interface LiveState {
  /** Unix milliseconds. */
  readonly at: number;
  readonly services: Readonly<Partial<Record<ServiceName, ServiceState>>>;
  readonly height?: number | undefined;
  /** Unix milliseconds. */
  readonly lastBlockAt?: number | undefined;
  /** Transactions that wait for a block. */
  readonly mempool?: number | undefined;
  /** Items with a receipt that are not permanent yet, and the bundles that are on their way to the chain. */
  readonly waitingItems?: number | undefined;
  readonly waitingBundles?: number | undefined;
  /** Winc, as decimal text. */
  readonly creditsSold?: string | undefined;
  /** Names that are registered. */
  readonly names?: number | undefined;
  /** Of gateway and router, without what watches them. */
  readonly readsPerSecond?: number | undefined;
  /** Answers with a status of 500 and above, of all services. */
  readonly errorsPerSecond?: number | undefined;
}

/** `POST /api/session`: a key that the operator has, or, in the local world, those of this installation. */
export type SessionRequest =
  | {
      readonly key: string;
      /** Whom the key is shown to; all unless given. */
      readonly for?: readonly OperatorService[];
    }
  | { readonly own: true };

/** `GET /api/session`, and what opening and ending one answers. */
export interface SessionInfo {
  /** Which services take the keys of this session. */
  readonly operator: Readonly<Record<OperatorService, boolean>>;
  /** Unix milliseconds; null: there is no session. Each request as operator puts it off. */
  readonly until: number | null;
  /** Whether `{own: true}` opens one. */
  readonly ownKeys: boolean;
}

/** Figures of one surface at each sample. */
export type FigureName =
  | 'requestsPerSecond'
  | 'errorsPerSecond'
  /** Seconds within which half, and 95 in a hundred, of the answers were out. */
  | 'latencyP50'
  | 'latencyP95'
  | 'inFlight'
  /** 0 to 1. */
  | 'cacheHitShare'
  /** Seconds that the event loop was late, at the 99th percentile. */
  | 'eventLoopLag'
  | 'memoryBytes'
  /** Cores in use. */
  | 'cpu';

export interface SurfaceCharts {
  /** One value for each of `times`; null: not known. */
  readonly figures: Readonly<Record<FigureName, readonly (number | null)[]>>;
  /** What waits, by the name of its queue. */
  readonly queues: Readonly<Record<string, readonly (number | null)[]>>;
}

/** `GET /api/operator/charts?since=` */
export interface Charts {
  readonly everyMs: number;
  /** Unix milliseconds, the oldest first, at most one hour. */
  readonly times: readonly number[];
  readonly surfaces: Readonly<Partial<Record<OperatorService, SurfaceCharts>>>;
}

/** `GET /api/operator/health` */
export interface ServiceHealth extends ServiceState {
  readonly name: ServiceName;
  readonly url: string;
  /** Whether it can do its work; undefined: it does not tell. */
  readonly ready?: boolean | undefined;
}
