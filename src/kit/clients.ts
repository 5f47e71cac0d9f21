/**
 * Published clients, ready to use with this network. Each package is the caller's own: loaded when it is asked for, with
 * a clear error where it is not installed.
 */
import { importFromCaller } from './caller-package.ts';
import type {
  ArweaveClient,
  CreateRpc,
  CreateRpcSubscriptions,
  SolanaConnection,
  SolanaKitClient,
  StripeClient,
  TurboClient,
  WayfinderClient,
} from './client-types.ts';
import type { Urls } from './urls.ts';
import type { AnyWallet } from './wallets.ts';

export interface Clients {
  /** `arweave`, on the address that has everything of the network. */
  arweave(): Promise<ArweaveClient>;
  /** `@ardrive/turbo-sdk`, which uploads, pays and names for this wallet; the first Arweave wallet unless given. */
  turbo(wallet?: AnyWallet): Promise<TurboClient>;
  /** `@ar.io/wayfinder-core`, which reads from the gateway. */
  wayfinder(): Promise<WayfinderClient>;
  /** `Connection` of `@solana/web3.js` 1. */
  solana(): Promise<SolanaConnection>;
  /** `@solana/kit`. */
  kit(): Promise<SolanaKitClient>;
  /** `stripe`, on the local card provider, with its secret key. */
  stripe(): Promise<StripeClient>;
}

export interface ClientDeps {
  readonly urls: Urls;
  readonly wallets: { readonly arweave: readonly AnyWallet[] };
  readonly cardSecretKey: () => string;
}

export function createClients({ urls, wallets, cardSecretKey }: ClientDeps): Clients {
  return {
    async arweave() {
      const module = await importFromCaller('arweave');
      const { init } = classOf<{ init(config: object): ArweaveClient }>(module, 'default', 'arweave');
      const { hostname, port } = new URL(urls.arweave);
      return init({ host: hostname, port, protocol: 'http' });
    },
    async turbo(wallet = wallets.arweave[0]) {
      if (wallet === undefined) throw new Error('this network has no wallets: name one');
      const name = '@ardrive/turbo-sdk';
      const factory = classOf<TurboFactory>(await importFromCaller(name), 'TurboFactory', name);
      return factory.authenticated({
        ...keyOf(wallet, urls),
        paymentServiceConfig: { url: urls.payment },
        uploadServiceConfig: { url: urls.upload },
      });
    },
    async wayfinder() {
      const name = '@ar.io/wayfinder-core';
      const module = await importFromCaller(name);
      const Wayfinder = classOf<new (options: object) => WayfinderClient>(module, 'Wayfinder', name);
      const Routing = classOf<new (options: object) => object>(module, 'StaticRoutingStrategy', name);
      // Each id has a host of its own, which an address in numbers cannot have.
      const gateway = new URL(urls.gateway.replace('//127.0.0.1', '//localhost')).href;
      return new Wayfinder({ routingSettings: { strategy: new Routing({ gateway }) } });
    },
    async solana() {
      const name = '@solana/web3.js';
      const Connection = classOf<new (url: string, options: object) => SolanaConnection>(
        await importFromCaller(name),
        'Connection',
        `${name} 1`,
      );
      return new Connection(urls.solana, { commitment: 'confirmed', wsEndpoint: urls.solanaWebSocket });
    },
    async kit() {
      const name = '@solana/kit';
      const module = await importFromCaller(name);
      const createRpc = classOf<CreateRpc>(module, 'createSolanaRpc', name);
      const createSubscriptions = classOf<CreateRpcSubscriptions>(
        module,
        'createSolanaRpcSubscriptions',
        name,
      );
      return { rpc: createRpc(urls.solana), rpcSubscriptions: createSubscriptions(urls.solanaWebSocket) };
    },
    async stripe() {
      const module = await importFromCaller('stripe');
      const Stripe = classOf<new (key: string, options: object) => StripeClient>(module, 'default', 'stripe');
      const { hostname, port } = new URL(urls.card);
      return new Stripe(cardSecretKey(), { host: hostname, port, protocol: 'http', telemetry: false });
    },
  };
}

interface TurboFactory {
  authenticated(options: object): TurboClient;
}

function keyOf(wallet: AnyWallet, urls: Urls): Record<string, unknown> {
  if ('jwk' in wallet) return { privateKey: wallet.jwk, token: 'arweave', gatewayUrl: urls.arweave };
  if ('secretKey' in wallet) return { privateKey: wallet.secretKey, token: 'solana' };
  return { privateKey: wallet.privateKey, token: 'ethereum' };
}

/** A package in CommonJS has its exports below `default`, once or twice, as it was built. */
function classOf<T>(module: Record<string, unknown>, name: string, what: string): T {
  const inner = module.default;
  const places = [
    module[name],
    ...(isObject(inner) ? [Reflect.get(inner, name)] : []),
    ...(name === 'default' ? [inner, module] : []),
  ];
  const found = places.find(
    (place) => typeof place === 'function' || (isObject(place) && name !== 'default'),
  );
  if (found === undefined) throw new Error(`what is installed is not ${what}: it has no ${name}`);
  return found as T;
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
