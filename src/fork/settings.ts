/** Settings that make no fork. */
import type { Config } from '../config/config.ts';
import { StartupError } from '../kernel/errors.ts';
import { isLoopbackHost } from '../kernel/http/loopback.ts';

/** Throws `StartupError` for settings that make no fork. */
export function checkFork(config: Config): void {
  const problems = [...forkUrls(config).flatMap((entry) => problemsOf(entry, config)), ...leftOver(config)];
  if (problems.length > 0) throw new StartupError(problems.join('\n'));
}

interface ForkUrl {
  readonly variable: string;
  readonly url: string;
}

function forkUrls(config: Config): ForkUrl[] {
  const names = ['FORK_GATEWAY_URL', 'FORK_GRAPHQL_URL', 'FORK_SOLANA_RPC_URL'] as const;
  return names.flatMap((variable) => {
    const url = config[variable];
    return url === undefined ? [] : [{ variable, url }];
  });
}

function problemsOf({ variable, url }: ForkUrl, config: Config): string[] {
  if (config.WORLD !== 'local') {
    return [`${variable} is for the local network: leave it unset, or set WORLD to local`];
  }
  const own = ports.find((name) => config[name] !== 0 && config[name] === portOf(url));
  if (own === undefined || !isThisMachine(new URL(url).hostname, config)) return [];
  return [`${variable} is this network itself (${own}): set it to another one`];
}

/** Settings of a fork that is none. */
function leftOver(config: Config): string[] {
  const { FORK_GATEWAY_URL: gateway, FORK_SOLANA_RPC_URL: rpc } = config;
  return [
    ...(gateway === undefined && config.FORK_GRAPHQL_URL !== undefined
      ? ['FORK_GRAPHQL_URL needs FORK_GATEWAY_URL beside it']
      : []),
    ...(gateway === undefined && config.FORK_HEIGHT !== undefined
      ? ['FORK_HEIGHT is a height of FORK_GATEWAY_URL, which is not set']
      : []),
    ...(rpc !== undefined && config.SOLANA_RPC_URL.length > 0
      ? [
          'FORK_SOLANA_RPC_URL is for the local ledger, and SOLANA_RPC_URL names another one: leave one of them unset',
        ]
      : []),
  ];
}

const ports = [
  'PORT',
  'ADMIN_PORT',
  'GATEWAY_PORT',
  'PAYMENT_PORT',
  'UPLOAD_PORT',
  'LOCAL_ARWEAVE_PORT',
  'LOCAL_SOLANA_PORT',
  'LOCAL_CARD_PORT',
  'LOCAL_X402_PORT',
] as const;

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

function isThisMachine(host: string, { HOST, LOCAL_NETWORK_HOST }: Config): boolean {
  const here = ['0.0.0.0', '[::]', HOST, LOCAL_NETWORK_HOST];
  return isLoopbackHost(host) || here.includes(host);
}
