/** What the first process of `turnpike start … --workers` and its workers say to each other. */
import { textOf } from '../../formats/json.ts';

export type ToWorker =
  | {
      readonly kind: 'begin';
      readonly index: number;
      readonly count: number;
      readonly surface: string;
      /** The port that the first worker got; undefined for the first. */
      readonly port: number | undefined;
      /** Parts of the local network that run already: name and address. */
      readonly local: readonly (readonly [string, string])[];
    }
  /** Asks for the worker's own metrics. */
  | { readonly kind: 'metrics'; readonly id: number }
  /** The metrics of all, as the worker asked for. */
  | { readonly kind: 'collected'; readonly id: number; readonly text: string };

export type FromWorker =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }
  /** Asks for the metrics of all workers. */
  | { readonly kind: 'collect'; readonly id: number };

/** The cluster's own messages come over the same channel. */
const isMessage = (message: unknown, kinds: readonly string[]): boolean =>
  kinds.includes(textOf(message, 'kind') ?? '');

export const isFromWorker = (message: unknown): message is FromWorker =>
  isMessage(message, ['ready', 'metrics', 'collect']);

export const isToWorker = (message: unknown): message is ToWorker =>
  isMessage(message, ['begin', 'metrics', 'collected']);
