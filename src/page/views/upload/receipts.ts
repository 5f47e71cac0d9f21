/** Receipts of what was uploaded in this browser: kept in it, and exportable. */
import { signal } from '@preact/signals';
import { kept } from '../../services/kept.ts';
import type { ItemStatus, Receipt } from '../../services/upload.ts';
import type { UploadEntry } from './engine/entry.ts';

export interface KeptReceipt {
  readonly id: string;
  readonly path: string;
  readonly size: number;
  readonly type: string;
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly receipt: Receipt;
  /** How many files a manifest names. */
  readonly folderFiles?: number;
  /** Once nothing follows it any more, it need not be asked for again. */
  readonly lastStatus?: ItemStatus;
}

const store = kept<KeptReceipt>('receipts');

/** Newest first; undefined before they are read. */
export const receipts = signal<readonly KeptReceipt[] | undefined>(undefined);

export async function readReceipts(): Promise<void> {
  receipts.value = (await store.all()).sort((one, other) => other.at - one.at);
}

export async function keepReceipt(entry: UploadEntry, entriesOfBatch: number): Promise<void> {
  const { receipt, signed, path, size, type, isManifest } = entry;
  if (receipt === undefined) return;
  await put({
    id: receipt.id,
    path,
    size,
    type,
    owner: signed?.owner ?? '',
    at: Date.now(),
    receipt,
    ...(isManifest && { folderFiles: entriesOfBatch - 1 }),
  });
}

/** A status from which nothing follows. */
export const isLast = ({ status }: ItemStatus): boolean => status === 'FINALIZED' || status === 'FAILED';

export async function keepLastStatus(kept: KeptReceipt, lastStatus: ItemStatus): Promise<void> {
  await put({ ...kept, lastStatus });
}

export async function forgetReceipt(id: string): Promise<void> {
  await store.delete(id);
  receipts.value = receipts.value?.filter((each) => each.id !== id);
}

async function put(value: KeptReceipt): Promise<void> {
  const others = receipts.value?.filter(({ id }) => id !== value.id);
  if (others !== undefined) receipts.value = [value, ...others].sort((one, other) => other.at - one.at);
  await store.put(value.id, value);
}

/** As a file that other programs read; the browser saves it. */
export function exportReceipts(chosen: readonly KeptReceipt[], name: string): void {
  const lines = chosen.map(({ receipt, path, size, type, at }) => ({
    path,
    size,
    type,
    uploadedAt: new Date(at).toISOString(),
    receipt,
  }));
  const blob = new Blob([`${JSON.stringify(lines, null, 2)}\n`], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser reads it in its own time.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
