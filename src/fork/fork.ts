/** The fork as it is configured, asked by the gateway and by the local network. */
import { redactUrl } from '../config/redact.ts';
import type { Logger } from '../kernel/log.ts';
import type { ForkedAccounts } from './accounts.ts';
import type { ForkedChain } from './chain.ts';
import type { ForkConfig, OpenFork } from './open.ts';

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
  readonly solana: string | null;
  readonly height: number | null;
}

/** Undefined where nothing is forked. */
export function createFork(config: ForkConfig, log: Logger): Fork | undefined {
  const { FORK_GATEWAY_URL: gateway, FORK_SOLANA_RPC_URL: solana, FORK_HEIGHT: height = null } = config;
  if (gateway === undefined && solana === undefined) return undefined;
  const shown = (url: string | undefined) => (url === undefined ? null : redactUrl(url));
  const info: ForkInfo = { gateway: shown(gateway), solana: shown(solana), height };
  let opened: OpenFork | undefined;
  return {
    info,
    get chain() {
      return opened?.chain;
    },
    get accounts() {
      return opened?.accounts;
    },
    async start() {
      const { openFork } = await import('./open.ts');
      opened = await openFork(config, log);
      log.info({ fork: info }, 'what is not here is read from the fork; nothing is written there');
    },
    async stop() {
      await opened?.close();
    },
  };
}
