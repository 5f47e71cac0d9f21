/** The addresses of a network under the names that an app has in its `.env`: of `turnpike env`, and of the kit. */

const variables: readonly (readonly [variable: string, address: string, of: (url: string) => string])[] = [
  ['ARWEAVE_URL', 'arweave', (url) => url],
  ['GATEWAY_URL', 'gateway', (url) => url],
  ['GRAPHQL_URL', 'gateway', (url) => `${url}/graphql`],
  ['PAYMENT_URL', 'payment', (url) => url],
  ['UPLOAD_URL', 'upload', (url) => url],
  ['ROUTER_URL', 'router', (url) => url],
  ['CONSOLE_URL', 'console', (url) => url],
  ['SOLANA_RPC_URL', 'solana', (url) => url],
  ['SOLANA_WS_URL', 'solana', (url) => url.replace(/^http/, 'ws')],
  ['STRIPE_API_URL', 'card', (url) => url],
  ['X402_FACILITATOR_URL', 'x402', (url) => url],
];

export const appVariables: readonly string[] = variables.map(([variable]) => variable);

/** Of the parts that `urls` has. */
export function appEnvironment(urls: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    variables.flatMap(([variable, address, of]) => {
      const url = urls.get(address);
      return url === undefined ? [] : [[variable, of(url)]];
    }),
  );
}
