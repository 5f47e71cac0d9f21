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
