/** What can be done with a local network as a whole, by HTTP, by command and in a program's own process. */
import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import type { Address, Stack } from '../stack.ts';
import { version } from '../version.ts';
import { ChangeRefused } from './errors.ts';
import type { LocalStack } from './local-stack.ts';

export interface LocalInfo {
  /** Another one after each change that takes something back: reset, revert, load. */
  readonly instance: string;
  readonly world: 'local';
  readonly version: string;
  /** Of the local chain; undefined where it runs elsewhere. */
  readonly height: number | undefined;
  readonly addresses: readonly Address[];
}

export interface LocalControl {
  info(): Promise<LocalInfo>;
  /** A fresh network, as on the first start; keys stay. */
  reset(): Promise<LocalInfo>;
  /** Does something with the stack that runs now, while nothing changes it as a whole. */
  use<T>(work: (stack: Stack) => Promise<T>): Promise<T>;
  /** The stack that runs now: another one after every change. */
  readonly stack: () => Stack;
}

export function createLocalControl(config: Config, local: LocalStack): LocalControl {
  let instance: string = randomUUID();
  const info = (): LocalInfo => ({
    instance,
    world: 'local',
    version,
    height: local.stack.network.arweave?.node.head.height,
    addresses: local.stack.addresses(),
  });
  const replace = (fill: (folder: string) => Promise<void>): Promise<LocalInfo> =>
    local.inTurn(async () => {
      insistOnWholeState(config);
      await local.replaceState(fill);
      instance = randomUUID();
      return info();
    });
  return {
    info: () => local.inTurn(async () => info()),
    reset: () => replace(async () => {}),
    use: (work) => local.inTurn(() => work(local.stack)),
    stack: () => local.stack,
  };
}

/** All of the state is in the folder, or none of it is touched. */
function insistOnWholeState(config: Config): void {
  const elsewhere = [
    ...(config.DATABASE_URL === undefined ? [] : ['DATABASE_URL']),
    ...(config.BLOB_STORE_URL === undefined ? [] : ['BLOB_STORE_URL']),
    ...(config.ARWEAVE_NODE_URLS.length === 0 ? [] : ['ARWEAVE_NODE_URLS']),
    ...(config.SOLANA_RPC_URL.length === 0 ? [] : ['SOLANA_RPC_URL']),
  ];
  if (elsewhere.length === 0) return;
  throw new ChangeRefused(`part of the state is not in DATA_DIR: ${elsewhere.join(', ')} is set`);
}
