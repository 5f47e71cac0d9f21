/** Where the parts of a network listen. */
import { appEnvironment } from '../cli/app-environment.ts';

/** Parts that were not started have no address: to read one tells so. */
export interface Urls {
  /** Everything of the network on one port: the Arweave node, GraphQL, content and the controls. */
  readonly arweave: string;
  readonly gateway: string;
  readonly payment: string;
  readonly upload: string;
  readonly router: string;
  /** The router's admin page. */
  readonly admin: string;
  /** JSON-RPC. */
  readonly solana: string;
  readonly solanaWebSocket: string;
  readonly card: string;
  /** The x402 facilitator. */
  readonly x402: string;
}

const names: readonly (keyof Urls)[] = [
  'arweave',
  'gateway',
  'payment',
  'upload',
  'router',
  'admin',
  'solana',
  'solanaWebSocket',
  'card',
  'x402',
];

/** From the addresses that the program tells: `[{ name, url }]`. */
export function urlsOf(addresses: unknown): Urls {
  if (!Array.isArray(addresses)) throw new Error('the program did not tell its addresses');
  const found = new Map<string, string>();
  for (const address of addresses) {
    const { name, url } = address as { name?: unknown; url?: unknown };
    if (typeof name === 'string' && typeof url === 'string') found.set(name, url);
  }
  const solana = found.get('solana');
  if (solana !== undefined) found.set('solanaWebSocket', solana.replace(/^http/, 'ws'));
  if (!found.has('arweave')) throw new Error('the program runs without a local network of its own');
  const urls: Partial<Record<keyof Urls, string>> = {};
  for (const name of names) {
    const url = found.get(name);
    Object.defineProperty(urls, name, {
      enumerable: url !== undefined,
      get() {
        if (url === undefined) throw new Error(`${name} was not started with this network`);
        return url;
      },
    });
  }
  return urls as Urls;
}

/** Of the parts that were started, under the names that an app has in its `.env`. */
export function variablesOf(urls: Urls): Record<string, string> {
  return appEnvironment(new Map(Object.entries(urls)));
}
