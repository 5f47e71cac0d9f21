/** The fork as it is configured: opened with its cache, asked by the gateway and by the local network. */
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { StartupError } from '../kernel/errors.ts';
import type { Logger } from '../kernel/log.ts';
import { HttpClient } from '../outside/http.ts';
import { ForkedAccounts } from './accounts.ts';
import { ForkedAnswers } from './answers.ts';
import { ForkCache } from './cache.ts';
import { ForkedContent } from './content.ts';
import { ForkedNames } from './names.ts';
import { ForkedTransactions } from './transactions.ts';
import { ForkUpstream } from './upstream.ts';

/** What is read by ids of Arweave. */
export interface ForkedChain {
  /** Where it is, for people. */
  readonly shown: string;
  readonly transactions: ForkedTransactions;
  readonly content: ForkedContent;
  readonly answers: ForkedAnswers;
  /** Undefined where accounts are forked: names are among them. */
  readonly names: ForkedNames | undefined;
}

export interface Fork {
  readonly info: ForkInfo;
  /** Known once it was started, like `accounts`. */
  readonly chain: ForkedChain | undefined;
  readonly accounts: ForkedAccounts | undefined;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** For people: addresses without what may be a key in them. */
export interface ForkInfo {
  readonly gateway: string | null;
  readonly graphql: string | null;
  readonly solana: string | null;
  readonly height: number | null;
}

type ForkConfig = Pick<
  Config,
  | 'DATA_DIR'
  | 'FORK_GATEWAY_URL'
  | 'FORK_GRAPHQL_URL'
  | 'FORK_SOLANA_RPC_URL'
  | 'FORK_HEIGHT'
  | 'FORK_CACHE_MAX_BYTES'
>;

/** Undefined where nothing is forked. */
export function createFork(config: ForkConfig, log: Logger): Fork | undefined {
  const { FORK_GATEWAY_URL: gatewayUrl, FORK_SOLANA_RPC_URL: rpcUrl, FORK_HEIGHT: height } = config;
  if (gatewayUrl === undefined && rpcUrl === undefined) return undefined;
  const http = new HttpClient({ timeoutMs: 10_000, maxBytes: 64 * 1024 });
  const upstream = (variable: string, url: string) => new ForkUpstream(variable, url, http);
  const gateway = gatewayUrl === undefined ? undefined : upstream('FORK_GATEWAY_URL', gatewayUrl);
  const graphql =
    config.FORK_GRAPHQL_URL === undefined
      ? gateway && upstream('FORK_GATEWAY_URL', `${gateway.address}/graphql`)
      : upstream('FORK_GRAPHQL_URL', config.FORK_GRAPHQL_URL);
  const rpc = rpcUrl === undefined ? undefined : upstream('FORK_SOLANA_RPC_URL', rpcUrl);
  const info: ForkInfo = {
    gateway: gateway?.shown ?? null,
    graphql: graphql?.shown ?? null,
    solana: rpc?.shown ?? null,
    height: height ?? null,
  };
  let cache: ForkCache | undefined;
  let chain: ForkedChain | undefined;
  let accounts: ForkedAccounts | undefined;
  return {
    info,
    get chain() {
      return chain;
    },
    get accounts() {
      return accounts;
    },
    async start() {
      const folder = join(config.DATA_DIR, 'fork-cache');
      cache = await ForkCache.open({ folder, maxBytes: config.FORK_CACHE_MAX_BYTES, log });
      accounts = rpc && new ForkedAccounts(rpc, cache);
      if (gateway !== undefined && graphql !== undefined) {
        const transactions = new ForkedTransactions({ gateway, graphql, cache, height, log });
        const content = new ForkedContent({ gateway, transactions, cache });
        chain = {
          shown: gateway.shown,
          transactions,
          content,
          answers: new ForkedAnswers(transactions, content),
          names: accounts === undefined ? new ForkedNames(gateway, cache) : undefined,
        };
      }
      log.info({ fork: info }, 'what is not here is read from the fork; nothing is written there');
    },
    async stop() {
      await http.close();
      await cache?.close();
    },
  };
}

/** Throws `StartupError` for settings that make no fork. */
export function checkFork(config: Config): void {
  const problems = [...forkUrls(config).flatMap((entry) => problemsOf(entry, config)), ...leftOver(config)];
  if (problems.length > 0) throw new StartupError(problems.join('\n'));
}

interface ForkUrl {
  readonly variable: string;
  readonly url: string;
}

function forkUrls(config: ForkConfig): ForkUrl[] {
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
  const isLoopback = /^(localhost|.*\.localhost|127\.[0-9.]+|\[::1\]|0\.0\.0\.0|\[::\])$/.test(host);
  return isLoopback || host === HOST || host === LOCAL_NETWORK_HOST;
}
