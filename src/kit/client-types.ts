/**
 * The types of the published clients, from the packages themselves. An app that has one of them not installed must still
 * be able to check its types: hence the directives, which the declarations of the package keep.
 */
/** @ts-ignore: The package may not be installed. */
export type ArweaveClient = import('arweave').default;
/** @ts-ignore: The package may not be installed. */
export type StripeClient = import('stripe').Stripe;
/** @ts-ignore: The package may not be installed. */
export type TurboClient = import('@ardrive/turbo-sdk').TurboAuthenticatedClient;
/** @ts-ignore: The package may not be installed. */
export type WayfinderClient = import('@ar.io/wayfinder-core').Wayfinder;
/** @ts-ignore: The package may not be installed. */
export type SolanaConnection = import('@solana/web3.js').Connection;
/** @ts-ignore: The package may not be installed. */
export type CreateRpc = typeof import('@solana/kit').createSolanaRpc;
/** @ts-ignore: The package may not be installed. */
export type CreateRpcSubscriptions = typeof import('@solana/kit').createSolanaRpcSubscriptions;

export interface SolanaKitClient {
  readonly rpc: ReturnType<CreateRpc>;
  readonly rpcSubscriptions: ReturnType<CreateRpcSubscriptions>;
}
