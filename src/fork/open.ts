/** The fork, opened with its cache. Loaded where something is forked, and nowhere else. */
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Logger } from '../kernel/log.ts';
import { HttpClient } from '../outside/http.ts';
import { ForkedAccounts } from './accounts.ts';
import { ForkedAnswers } from './answers.ts';
import { ForkCache } from './cache.ts';
import type { ForkedChain } from './chain.ts';
import { ForkedContent } from './content.ts';
import { ForkedNames } from './names.ts';
import { ForkedTransactions } from './transactions.ts';
import { ForkUpstream } from './upstream.ts';

export type ForkConfig = Pick<
  Config,
  | 'DATA_DIR'
  | 'FORK_GATEWAY_URL'
  | 'FORK_GRAPHQL_URL'
  | 'FORK_SOLANA_RPC_URL'
  | 'FORK_HEIGHT'
  | 'FORK_CACHE_MAX_BYTES'
>;

export interface OpenFork {
  readonly chain: ForkedChain | undefined;
  readonly accounts: ForkedAccounts | undefined;
  close(): Promise<void>;
}

export async function openFork(config: ForkConfig, log: Logger): Promise<OpenFork> {
  const { FORK_GATEWAY_URL: gatewayUrl, FORK_GRAPHQL_URL: graphqlUrl, FORK_SOLANA_RPC_URL: rpcUrl } = config;
  const folder = join(config.DATA_DIR, 'fork-cache');
  const cache = await ForkCache.open({ folder, maxBytes: config.FORK_CACHE_MAX_BYTES, log });
  const http = new HttpClient({ timeoutMs: 10_000, maxBytes: 64 * 1024 });
  const upstream = (variable: string, url: string) => new ForkUpstream(variable, url, http);
  const accounts =
    rpcUrl === undefined ? undefined : new ForkedAccounts(upstream('FORK_SOLANA_RPC_URL', rpcUrl), cache);
  return {
    accounts,
    chain: gatewayUrl === undefined ? undefined : openChain(gatewayUrl),
    async close() {
      await http.close();
      await cache.close();
    },
  };

  function openChain(url: string): ForkedChain {
    const gateway = upstream('FORK_GATEWAY_URL', url);
    const graphql =
      graphqlUrl === undefined
        ? upstream('FORK_GATEWAY_URL', `${url}/graphql`)
        : upstream('FORK_GRAPHQL_URL', graphqlUrl);
    const transactions = new ForkedTransactions({ gateway, graphql, cache, height: config.FORK_HEIGHT, log });
    const content = new ForkedContent({ gateway, transactions, cache });
    return {
      shown: gateway.shown,
      transactions,
      content,
      answers: new ForkedAnswers(transactions, content),
      names: accounts === undefined ? new ForkedNames(gateway, cache) : undefined,
    };
  }
}
