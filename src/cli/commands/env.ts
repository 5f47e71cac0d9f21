import { resolve } from 'node:path';
import { readProcessConfig } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { type Command, printJson, readArguments, UsageError } from '../command.ts';
import { findProcesses } from '../run-file.ts';

const names: readonly (readonly [variable: string, address: string, of: (url: string) => string])[] = [
  ['ARWEAVE_URL', 'arweave', (url) => url],
  ['GATEWAY_URL', 'gateway', (url) => url],
  ['GRAPHQL_URL', 'gateway', (url) => `${url}/graphql`],
  ['PAYMENT_URL', 'payment', (url) => url],
  ['UPLOAD_URL', 'upload', (url) => url],
  ['ROUTER_URL', 'router', (url) => url],
  ['SOLANA_RPC_URL', 'solana', (url) => url],
  ['SOLANA_WS_URL', 'solana', (url) => url.replace(/^http/, 'ws')],
  ['STRIPE_API_URL', 'card', (url) => url],
  ['X402_FACILITATOR_URL', 'x402', (url) => url],
];

export const env: Command = {
  usage: `turnpike env [--override <NAME=OTHER>]… [--json]

What the .env file of an app needs: where everything is that runs on DATA_DIR.

  --override  another name for one of them, for example GATEWAY_URL=VITE_GATEWAY_URL

turnpike env > .env.local`,
  async run(args) {
    const { values } = readArguments({
      args,
      options: { override: { type: 'string', multiple: true }, json: { type: 'boolean' } },
    });
    const others = new Map((values.override ?? []).map(parseOverride));
    const { DATA_DIR } = readProcessConfig();
    const { running } = findProcesses(DATA_DIR);
    if (running.length === 0) {
      throw new StartupError(`nothing runs on ${resolve(DATA_DIR)}: start it with "turnpike start"`);
    }
    const urls = new Map(running.flatMap(({ addresses }) => addresses.map(({ name, url }) => [name, url])));
    const found = names.flatMap(([name, address, of]) => {
      const url = urls.get(address);
      return url === undefined ? [] : [[others.get(name) ?? name, of(url)] as const];
    });
    if (values.json) printJson(Object.fromEntries(found));
    else for (const [name, value] of found) console.log(`${name}="${value}"`);
    return 0;
  },
};

function parseOverride(text: string): [string, string] {
  const [name = '', other = '', ...rest] = text.split('=');
  if (rest.length > 0 || !/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(other)) {
    throw new UsageError(`--override is NAME=OTHER, not "${text}"`);
  }
  if (!names.some(([known]) => known === name)) {
    throw new UsageError(`there is no ${name}; there are ${names.map(([known]) => known).join(', ')}`);
  }
  return [name, other];
}
