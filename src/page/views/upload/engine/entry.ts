/** One file on its way, as the view shows it and the browser keeps it. */
import type { Tag } from '../../../../formats/avro-tags.ts';
import type { SignedItem } from '../../../items/item.ts';
import type { Receipt } from '../../../services/upload.ts';
import type { WalletKind } from '../../../wallet/wallet.ts';

/**
 * waiting → reading (hashed) → signing (the wallet is asked) → sending → finishing (the service checks it) → sent.
 * From each of them to paused, failed and cancelled; from paused and failed back to waiting.
 */
export type EntryState =
  | 'waiting'
  | 'reading'
  | 'signing'
  | 'sending'
  | 'finishing'
  | 'sent'
  | 'failed'
  | 'paused'
  | 'cancelled';

/** Why it failed: each wants something else of the person. */
export type ProblemKind = 'refused' | 'credits' | 'unreadable' | 'connection' | 'service' | 'wallet';

export interface Problem {
  readonly kind: ProblemKind;
  /** What the other side said. */
  readonly text: string;
}

/** An item that its owner has signed: it is sent again, never signed again. */
export interface SignedUpload extends SignedItem {
  /** Names the route of the wallet's kind. */
  readonly token: WalletKind;
  readonly owner: string;
}

export interface UploadEntry {
  readonly key: string;
  /** With slashes: where a folder's manifest has it. */
  readonly path: string;
  readonly size: number;
  readonly type: string;
  /** Besides the content type. */
  readonly tags: readonly Tag[];
  readonly state: EntryState;
  /** Of the state: read, or sent. */
  readonly doneBytes: number;
  readonly problem: Problem | undefined;
  /** Of the file's head and tail, to know it again; known once it was read. */
  readonly fingerprint: string | undefined;
  readonly signed: SignedUpload | undefined;
  /** Of an upload in parts. */
  readonly session: { readonly id: string; readonly partBytes: number } | undefined;
  readonly receipt: Receipt | undefined;
  /** Whether it is the manifest of the others. */
  readonly isManifest: boolean;
}

export type EntrySource = Pick<UploadEntry, 'key' | 'path' | 'size' | 'type'> &
  Partial<Pick<UploadEntry, 'tags' | 'isManifest'>>;

export function newEntry(source: EntrySource): UploadEntry {
  return {
    tags: [],
    isManifest: false,
    ...source,
    state: 'waiting',
    doneBytes: 0,
    problem: undefined,
    fingerprint: undefined,
    signed: undefined,
    session: undefined,
    receipt: undefined,
  };
}

/** As an item carries them. */
export const itemTags = ({ type, tags }: Pick<UploadEntry, 'type' | 'tags'>): readonly Tag[] => [
  { name: 'Content-Type', value: type },
  ...tags,
];

const working: ReadonlySet<EntryState> = new Set(['reading', 'signing', 'sending', 'finishing']);

export const isWorking = ({ state }: UploadEntry): boolean => working.has(state);

/** What a reload interrupted goes on when the person says so. */
export function afterReload(entry: UploadEntry): UploadEntry {
  return isWorking(entry) ? { ...entry, state: 'paused', doneBytes: 0 } : entry;
}
