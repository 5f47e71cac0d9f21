/**
 * Of the published clients that are not installed here, what the kit calls. In an app the packages' own types take the
 * place of these, which are not in the package.
 */
declare module '@ardrive/turbo-sdk' {
  export interface TurboAuthenticatedClient {
    getBalance(): Promise<{ winc: string }>;
  }
  export interface TurboUnauthenticatedClient {
    getBalance(address: string): Promise<{ winc: string }>;
  }
  export const TurboFactory: {
    authenticated(options: Record<string, unknown>): TurboAuthenticatedClient;
    unauthenticated(options: Record<string, unknown>): TurboUnauthenticatedClient;
  };
}

declare module '@ar.io/wayfinder-core' {
  export class StaticRoutingStrategy {
    constructor(options: { gateway: string });
  }
  export class Wayfinder {
    constructor(options: { routingSettings: { strategy: StaticRoutingStrategy } });
    request(url: string): Promise<Response>;
  }
}

declare module '@solana/web3.js' {
  export class Connection {
    constructor(url: string, options: { commitment: 'confirmed'; wsEndpoint: string });
    getSlot(): Promise<number>;
  }
}

declare module '@solana/kit' {
  export function createSolanaRpc(url: string): { getSlot(): { send(): Promise<bigint> } };
  export function createSolanaRpcSubscriptions(url: string): object;
}
