/** What the first process of `turnpike start --workers` and its workers say to each other, beside questions (`Channel`). */
import type { Config } from '../../config/config.ts';
import { textOf } from '../../formats/json.ts';
import type { Packet } from '../../kernel/workers/channel.ts';
import type { NetworkFacts } from '../stack/local-network.ts';
import type { Address } from '../stack.ts';

export interface Begin {
  readonly kind: 'begin';
  readonly index: number;
  readonly count: number;
  readonly surfaces: readonly string[];
  /** With the ports that the first worker got, for those after it. */
  readonly config: Config;
  /** The local network as far as the first process runs it. */
  readonly network: NetworkFacts;
  /** The console's address; undefined where there is none, or none yet. */
  readonly consoleUrl: string | undefined;
}

/** Finish what is under way and end. */
export interface Stop {
  readonly kind: 'stop';
}

export type ToWorker = Begin | Stop | Packet;

export type FromWorker =
  /** What is said to a process before it listens is lost. */
  | { readonly kind: 'listening' }
  | { readonly kind: 'ready'; readonly addresses: readonly Address[] }
  | Packet;

/** Questions that the first process passes on: to the other workers, or to all of them. */
export const toOthers = 'to others';
export const toAll = 'to all';

/** The cluster's own messages come over the same channel. */
export const isBegin = (message: unknown): message is Begin => textOf(message, 'kind') === 'begin';

export const isStop = (message: unknown): message is Stop => textOf(message, 'kind') === 'stop';

export const isListening = (message: unknown): boolean => textOf(message, 'kind') === 'listening';

export const isReady = (message: unknown): message is Extract<FromWorker, { kind: 'ready' }> =>
  textOf(message, 'kind') === 'ready';
