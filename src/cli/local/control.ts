/** What can be done with a local network as a whole, by HTTP, by command and in a program's own process. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { ForkInfo } from '../../fork/fork.ts';
import { machineNow, travelled } from '../../kernel/clock.ts';
import type { Mining } from '../../localnet/arweave/chain/local-node.ts';
import type { LocalArweave } from '../../localnet/arweave/local-arweave.ts';
import { findProcesses } from '../run-file.ts';
import type { Address, Stack } from '../stack.ts';
import { version } from '../version.ts';
import { maxOffsetMs, writeOffset } from './clock-file.ts';
import { ChangeRefused, invalidTime } from './errors.ts';
import type { LocalStack } from './local-stack.ts';
import { type SnapshotInfo, Snapshots } from './snapshots.ts';
import { checkStateFile, keysName, unpackStateFile, writeStateFile } from './state-file.ts';

export interface LocalInfo {
  /** Another one after each change that takes something back: reset, revert, load. */
  readonly instance: string;
  readonly world: 'local';
  readonly version: string;
  /** Of the local chain, as the next; undefined where it runs elsewhere. */
  readonly height: number | undefined;
  readonly mining: Mining | undefined;
  readonly clock: {
    readonly now: string;
    /** How far it is ahead of the machine's. */
    readonly offsetSeconds: number;
  };
  readonly snapshots: readonly SnapshotInfo[];
  /** The network that is read where this one has nothing; null where none is. */
  readonly fork: ForkInfo | null;
  readonly addresses: readonly Address[];
}

/** A time span, or the moment that it shall be, in Unix milliseconds. */
export type ClockChange = { readonly seconds: number } | { readonly to: number };

export interface MiningChange {
  readonly mode: Mining['mode'];
  /** As it is, unless given. */
  readonly intervalMs?: number;
}

export interface LocalControl {
  info(): Promise<LocalInfo>;
  /** A fresh network, as on the first start; keys and snapshots stay. */
  reset(): Promise<LocalInfo>;
  snapshot(name?: string): Promise<SnapshotInfo>;
  snapshots(): Promise<readonly SnapshotInfo[]>;
  /** Goes back to a snapshot, the newest unless named, and drops those made after it. */
  revert(name?: string): Promise<SnapshotInfo>;
  forget(name: string): Promise<void>;
  /** Sets the clock of everything forward and mines a block, which has the new time. */
  advance(change: ClockChange): Promise<LocalInfo>;
  mine(blocks?: number): Promise<{ readonly height: number }>;
  mining(change?: MiningChange): Promise<Mining>;
  /** Writes the state and the keys made for it into a file that the caller removes; answers its path. */
  save(): Promise<string>;
  load(path: string): Promise<LocalInfo>;
  /** Does something with the stack that runs now, while nothing changes it as a whole. */
  use<T>(work: (stack: Stack) => Promise<T>): Promise<T>;
  /** The stack that runs now: another one after every change. */
  readonly stack: () => Stack;
}

/** Where blocks come by themselves again and nobody ever said how often. */
const usualIntervalMs = 1_000;

export function createLocalControl(config: Config, local: LocalStack): LocalControl {
  const { folder } = local;
  const snapshots = new Snapshots(folder);
  let instance: string = randomUUID();

  const info = (): LocalInfo => {
    const node = local.stack.network.arweave?.node;
    return {
      instance,
      world: 'local',
      version,
      height: node?.head.height,
      mining: node?.mining,
      clock: { now: new Date().toISOString(), offsetSeconds: travelled() / 1_000 },
      snapshots: snapshots.list(),
      fork: local.stack.fork ?? null,
      addresses: local.stack.addresses(),
    };
  };
  /** In turn, and only where all of the state is in the folder. */
  const change = <T>(work: () => Promise<T>): Promise<T> =>
    local.inTurn(() => {
      insistOnWholeState(config);
      insistOnBeingAlone(config);
      return work();
    });
  const replace = async (fill: (folder: string) => Promise<void>, also?: readonly string[]) => {
    await local.replaceState(fill, also);
    instance = randomUUID();
  };
  const chain = (): LocalArweave => {
    const { arweave } = local.stack.network;
    if (arweave === undefined) throw new ChangeRefused('the chain is not run by this process');
    return arweave;
  };

  return {
    info: () => local.inTurn(async () => info()),
    reset: () =>
      change(async () => {
        await replace(async () => {});
        return info();
      }),
    snapshot: (given) =>
      change(async () => {
        const name = snapshots.nameFor(given);
        const { height } = chain().node.head;
        return await local.whileStopped(() => snapshots.make(name, height));
      }),
    snapshots: async () => snapshots.list(),
    revert: (name) =>
      change(async () => {
        const found = snapshots.find(name);
        await replace((to) => snapshots.fill(found.name, to));
        snapshots.dropAfter(found.name);
        return found;
      }),
    forget: (name) => change(async () => snapshots.forget(name)),
    advance: (asked) =>
      change(async () => {
        const before = travelled();
        const offset = offsetOf(asked, before);
        await local.whileStopped(
          async () => writeOffset(folder.path, offset),
          () => writeOffset(folder.path, before),
        );
        await local.stack.network.arweave?.mine(1);
        return info();
      }),
    mine: (blocks = 1) => local.inTurn(async () => ({ height: await chain().mine(blocks) })),
    mining: (asked) =>
      local.inTurn(async () => {
        const { mining } = chain().node;
        const { mode, intervalMs = mining.intervalMs || usualIntervalMs } = asked ?? mining;
        if (asked !== undefined) chain().setMining({ mode, intervalMs });
        return chain().node.mining;
      }),
    save: () =>
      change(async () => {
        const path = join(folder.scratch(), `${randomUUID()}.turnpike`);
        await local.whileStopped(async () => writeStateFile(path, folder));
        return path;
      }),
    load: (path) =>
      change(async () => {
        checkStateFile(path);
        await replace(async (to) => unpackStateFile(path, to), [keysName]);
        return info();
      }),
    use: (work) => local.inTurn(() => work(local.stack)),
    stack: () => local.stack,
  };
}

const databaseVariables = [
  'DATABASE_URL',
  'DATABASE_URL_LEDGER',
  'DATABASE_URL_GATEWAY',
  'DATABASE_URL_ROUTER',
] as const;

/** All of the state is in the folder, or none of it is touched. */
function insistOnWholeState(config: Config): void {
  const elsewhere = [
    ...databaseVariables.filter((name) => config[name] !== undefined),
    ...(config.BLOB_STORE_URL === undefined ? [] : ['BLOB_STORE_URL']),
    ...(config.ARWEAVE_NODE_URLS.length === 0 ? [] : ['ARWEAVE_NODE_URLS']),
    ...(config.SOLANA_RPC_URL.length === 0 ? [] : ['SOLANA_RPC_URL']),
  ];
  if (elsewhere.length === 0) return;
  throw new ChangeRefused(`part of the state is not in DATA_DIR: ${elsewhere.join(', ')} is set`);
}

/** Nothing is pulled from under another process. */
function insistOnBeingAlone(config: Config): void {
  const others = findProcesses(config.DATA_DIR).running.filter(({ pid }) => pid !== process.pid);
  if (others.length === 0) return;
  const pids = others.map(({ pid }) => pid).join(', ');
  throw new ChangeRefused(`other processes use DATA_DIR, stop them first: ${pids}`);
}

/** Milliseconds ahead of the machine's clock; time does not go back. */
function offsetOf(change: ClockChange, before: number): number {
  const ahead = 'seconds' in change ? change.seconds * 1_000 : change.to - machineNow() - before;
  const offset = Math.round(before + ahead);
  if (!Number.isFinite(ahead) || ahead < 0) throw invalidTime('the clock goes forward only');
  if (offset > maxOffsetMs) throw invalidTime('a hundred years is as far as it goes');
  return offset;
}
