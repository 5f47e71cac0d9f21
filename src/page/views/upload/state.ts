/**
 * The upload of this tab: what was chosen, and how far it is. It lives as long as the page, so that it goes on while other
 * sections are shown, and is kept in the browser, so that a reload loses nothing but the files that are too large to
 * keep: those are asked for again.
 */
import { signal } from '@preact/signals';
import type { Tag } from '../../../formats/avro-tags.ts';
import { contentTypeOfFile } from '../../../formats/content-types.ts';
import { manifestContentType } from '../../../formats/manifest/manifest.ts';
import { place } from '../../app/location.ts';
import { hashInWorker } from '../../items/hash-worker.ts';
import { signFile } from '../../items/item.ts';
import { notify } from '../../kit/notify.tsx';
import { kept } from '../../services/kept.ts';
import * as uploadService from '../../services/upload.ts';
import { texts } from '../../texts.ts';
import { needWallet, WalletRefused } from '../../wallet/wallet.ts';
import { afterReload, newEntry, type SignedUpload, type UploadEntry } from './engine/entry.ts';
import { likelyIndex, type ManifestPlan, sentIds, writeManifest } from './engine/manifest.ts';
import { OtherFile, type SignOptions, UploadQueue } from './engine/queue.ts';
import { type FoundFile, takeFiles } from './engine/take-files.ts';
import { totalsOf } from './engine/totals.ts';
import { keepReceipt } from './receipts.ts';

export interface Batch {
  readonly id: string;
  /** Files are chosen while it is a draft. */
  readonly isDraft: boolean;
  /** Whether its files came in a folder. */
  readonly isFolder: boolean;
  readonly hasManifest: boolean;
  readonly plan: ManifestPlan;
  /** Left out. */
  readonly hidden: readonly string[];
  readonly tooMany: number;
  /** Wallets that lent credits and pay first. */
  readonly paidBy: readonly string[];
}

const noBatch: Batch = {
  id: '',
  isDraft: true,
  isFolder: false,
  hasManifest: false,
  plan: { index: '', fallback: '' },
  hidden: [],
  tooMany: 0,
  paidBy: [],
};

/** What a reload finds again: the whole as it was begun, and beside it each file that has got further. */
interface KeptBatch {
  readonly batch: Batch;
  readonly entries: readonly UploadEntry[];
  /** Small ones, by the key of their entry. */
  readonly files: ReadonlyMap<string, Blob>;
}

/** Larger files stay where they are: the browser would copy them. */
const keptFileBytes = 4 * 1024 * 1024;
const keptFilesBytes = 64 * 1024 * 1024;
const shownEveryMs = 100;
const offlineMs = 5_000;

const batches = kept<KeptBatch>('upload');
const progress = kept<UploadEntry>('upload-entries');

export const batch = signal<Batch>(noBatch);
export const entries = signal<readonly UploadEntry[]>([]);
/** False until what was kept is read. */
export const isRestored = signal(false);
/** Something waits until the device is online. */
export const isOffline = signal(false);
/** Another tab has the upload that is kept. */
export const isElsewhere = signal(false);

/** The draft's files; once it is begun the queue has them. */
const files = new Map<string, Blob>();
let queue = newQueue();
/** After a reload nothing begins by itself: a wallet would ask out of the blue. */
let isHeld = false;

function newQueue(): UploadQueue {
  const made: UploadQueue = new UploadQueue({
    service: uploadService,
    sign,
    terms: uploadTerms,
    paidBy: () => batch.value.paidBy,
    changed: () => {
      if (made === queue) showSoon();
    },
    keep: (entry) => {
      if (made === queue) keepEntry(entry);
    },
    isOnline: () => navigator.onLine,
    whenOnline,
    sleep,
  });
  return made;
}

let terms: Promise<uploadService.UploadTerms> | undefined;

/** Asked once; again after a failure. */
export function uploadTerms(): Promise<uploadService.UploadTerms> {
  terms ??= uploadService.uploadTerms().catch((error: unknown) => {
    terms = undefined;
    throw error;
  });
  return terms;
}

/** Puts files into the draft, or gives them to an upload that waits for them; throws for those it does not wait for. */
export async function addFiles(found: readonly FoundFile[]): Promise<void> {
  if (!batch.value.isDraft) return giveFilesAgain(found);
  const taken = takeFiles(found, entries.value.length);
  const byPath = new Map(entries.value.map((entry) => [entry.path, entry]));
  for (const { path, file } of taken.files) {
    const before = byPath.get(path);
    const { size } = file;
    const entry =
      before === undefined
        ? newEntry({ key: crypto.randomUUID(), path, size, type: typeOf(path, file) })
        : { ...before, size };
    byPath.set(path, entry);
    files.set(entry.key, file);
  }
  entries.value = [...byPath.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
  const { plan, hidden, isFolder: wasFolder } = batch.value;
  const isFolder = wasFolder || taken.isFolder;
  const paths = entries.value.map(({ path }) => path);
  batch.value = {
    ...batch.value,
    id: batch.value.id === '' ? crypto.randomUUID() : batch.value.id,
    isFolder,
    hasManifest: batch.value.hasManifest || (isFolder && !wasFolder),
    plan: plan.index === '' ? { ...plan, index: likelyIndex(paths) } : plan,
    hidden: [...hidden, ...taken.hidden].slice(0, 1_000),
    tooMany: batch.value.tooMany + taken.tooMany,
  };
  void keepChange();
}

/** By the end of its name; what that does not tell, the system may know. */
function typeOf(path: string, file: File): string {
  const type = contentTypeOfFile(path);
  return type === 'application/octet-stream' && file.type !== '' ? file.type : type;
}

/** The person chose files for an upload that a reload left without them. */
async function giveFilesAgain(found: readonly FoundFile[]): Promise<void> {
  const others: string[] = [];
  const { files: given } = takeFiles(found);
  for (const { path, file } of given) {
    const entry = queue.entries.find(
      ({ key, path: own }) => queue.file(key) === undefined && (own === path || nameOf(own) === nameOf(path)),
    );
    if (entry === undefined) {
      others.push(path);
      continue;
    }
    try {
      await queue.giveFile(entry.key, file);
      queue.resume(entry.key);
    } catch (error) {
      if (!(error instanceof OtherFile)) throw error;
      others.push(path);
    }
  }
  if (others.length > 0) throw new Error(texts.upload.otherFiles(others.length, others[0] ?? ''));
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

export function changeBatch(change: Partial<Batch>): void {
  batch.value = { ...batch.value, ...change };
  void keepChange();
}

/** Changes a file of the draft. */
export function changeEntry(key: string, change: Pick<UploadEntry, 'type' | 'tags'>): void {
  entries.value = entries.value.map((entry) => (entry.key === key ? { ...entry, ...change } : entry));
  void keepChange();
}

/** Gives every file of the draft the same tags besides its type. */
export function tagAll(tags: readonly Tag[]): void {
  entries.value = entries.value.map((entry) => ({ ...entry, tags }));
  void keepChange();
}

export function removeEntry(key: string): void {
  files.delete(key);
  entries.value = entries.value.filter((entry) => entry.key !== key);
  if (entries.value.length === 0) clear();
  else void keepChange();
}

/** Whether the browser has the bytes: after a reload it may not. */
export const hasFile = (key: string): boolean => (files.get(key) ?? queue.file(key)) !== undefined;

/** Begins to upload the draft. */
export async function start(): Promise<void> {
  batch.value = { ...batch.value, isDraft: false };
  isHeld = false;
  const begun = entries.value;
  queue = newQueue();
  await keepBatch();
  for (const entry of begun) queue.add(entry, files.get(entry.key));
  files.clear();
}

export const pause = (key: string): void => queue.pause(key);
export const pauseAll = (): void => queue.pauseAll();
export function resume(key: string): void {
  isHeld = false;
  queue.resume(key);
  showSoon();
}
export function resumeAll(): void {
  isHeld = false;
  queue.resumeAll();
  showSoon();
}
export const cancel = (key: string): void => queue.cancel(key);

/** Stops what is not sent yet, for good; what was sent stays. */
export function cancelAll(): void {
  changeBatch({ hasManifest: false });
  queue.cancelAll();
}

/** Forgets the upload: for the next one. */
export function clear(): void {
  const old = [...queue.entries.map(({ key }) => key)];
  queue.cancelAll();
  queue = newQueue();
  files.clear();
  batch.value = noBatch;
  entries.value = [];
  void keepBatch();
  for (const key of old) forgetEntry(key);
}

const manifestKey = ({ id }: Batch): string => `manifest ${id}`;

/** The manifest follows when every file is sent or given up. */
function addManifest(): void {
  const { hasManifest, isDraft, plan } = batch.value;
  const all = queue.entries;
  const key = manifestKey(batch.value);
  if (isDraft || !hasManifest || queue.entry(key) !== undefined || all.length === 0) return;
  if (!all.every(({ state }) => state === 'sent' || state === 'cancelled')) return;
  const ids = sentIds(all);
  if (ids.size === 0) return;
  const file = new Blob([writeManifest(ids, plan)]);
  const { size } = file;
  const path = texts.upload.manifestName;
  const entry = newEntry({ key, path, size, type: manifestContentType, isManifest: true });
  queue.add(isHeld ? { ...entry, state: 'paused' } : entry, file);
}

async function sign(
  file: Blob,
  tags: readonly Tag[],
  { onRead, onSigning, signal: abort }: SignOptions,
): Promise<SignedUpload> {
  const signer = await needWallet();
  if (signer === undefined) throw new WalletRefused(texts.upload.noWallet);
  const item = await signFile(signer, file, tags, async (fields, data) => {
    const message = await hashInWorker(fields, data, { onRead, signal: abort });
    onSigning();
    return message;
  });
  return { ...item, token: signer.kind, owner: signer.address };
}

let showing: ReturnType<typeof setTimeout> | undefined;

/** Progress comes more often than anybody reads it. */
function showSoon(): void {
  if (showing !== undefined) return;
  showing = setTimeout(() => {
    showing = undefined;
    addManifest();
    if (!batch.value.isDraft) entries.value = queue.entries;
    tellEnd();
  }, shownEveryMs);
}

let wasGoing = false;

/** Who looks at another section is told when it is over, or stuck. */
function tellEnd(): void {
  const { going, sent, files: all } = totalsOf(queue.entries);
  const isOver = wasGoing && going === 0;
  wasGoing = going > 0;
  if (!isOver || place.value.segments[0] === 'upload') return;
  const isDone = sent === all;
  notify({
    tone: isDone ? 'good' : 'warn',
    text: isDone ? texts.upload.toldDone(all) : texts.upload.toldStopped(all - sent),
    href: '/upload',
  });
}

const isWorthKeeping = ({ state, signed }: UploadEntry): boolean =>
  signed !== undefined || state === 'failed' || state === 'paused' || state === 'cancelled';

function keepEntry(entry: UploadEntry): void {
  if (entry.state === 'sent' && entry.receipt !== undefined) void keepReceipt(entry, queue.entries.length);
  // Each of these waits for the disk: what a reload would begin anew anyway is not worth it.
  if (isElsewhere.value || !isWorthKeeping(entry) || entry.state === 'finishing') return;
  progress.put(entry.key, entry).catch(cannotKeep);
}

function forgetEntry(key: string): void {
  if (!isElsewhere.value) progress.delete(key).catch(cannotKeep);
}

let isKeeping = false;
let isStale = false;

/** At once, because a reload may come at any moment; what changes meanwhile is kept after it, together. */
async function keepChange(): Promise<void> {
  isStale = true;
  if (isKeeping) return;
  isKeeping = true;
  while (isStale) {
    isStale = false;
    await keepBatch();
  }
  isKeeping = false;
}

async function keepBatch(): Promise<void> {
  if (isElsewhere.value) return;
  const small = new Map<string, Blob>();
  let bytes = 0;
  for (const [key, file] of batch.value.isDraft ? files : filesOfBegun()) {
    if (file.size > keptFileBytes || bytes + file.size > keptFilesBytes) continue;
    bytes += file.size;
    small.set(key, file);
  }
  const value = { batch: batch.value, entries: entries.value, files: small };
  await (entries.value.length === 0 ? batches.delete('current') : batches.put('current', value)).catch(
    cannotKeep,
  );
}

/** Until they are sent. */
const filesOfBegun = (): [string, Blob][] =>
  entries.value.flatMap(({ key }) => {
    const file = files.get(key) ?? queue.file(key);
    return file === undefined ? [] : [[key, file] as [string, Blob]];
  });

/** A full disk or a private window: the upload goes on, but does not survive a reload. */
function cannotKeep(error: unknown): void {
  console.warn('the upload cannot be kept in this browser', error);
}

/** Brings back what a reload interrupted. Of several tabs one has it. */
async function restore(): Promise<void> {
  if (!(await isOwner())) {
    isElsewhere.value = true;
    return;
  }
  const found = await batches.get('current');
  const further = new Map((await progress.all()).map((entry) => [entry.key, entry]));
  if (found === undefined || found.entries.length === 0) {
    for (const key of further.keys()) forgetEntry(key);
    return;
  }
  const all = found.entries.map((entry) => further.get(entry.key) ?? entry);
  const manifest = further.get(manifestKey(found.batch));
  batch.value = found.batch;
  if (found.batch.isDraft) {
    for (const [key, file] of found.files) files.set(key, file);
    entries.value = all;
    return;
  }
  isHeld = true;
  const isDone = ({ state }: UploadEntry): boolean => state === 'sent' || state === 'cancelled';
  for (const entry of all) {
    const paused: UploadEntry =
      entry.state === 'waiting' ? { ...entry, state: 'paused' } : afterReload(entry);
    queue.add(paused, isDone(entry) ? undefined : found.files.get(entry.key));
  }
  if (manifest !== undefined && isDone(manifest)) queue.add(manifest, undefined);
  entries.value = queue.entries;
}

/** Held until the tab is closed. */
function isOwner(): Promise<boolean> {
  if (navigator.locks === undefined) return Promise.resolve(true);
  return new Promise((resolve) => {
    void navigator.locks.request('turnpike-upload', { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : new Promise(() => {});
    });
  });
}

/** A service on this machine answers offline too: so it is asked now and then, whatever the browser says. */
async function whenOnline(abort: AbortSignal): Promise<void> {
  if (navigator.onLine) return;
  isOffline.value = true;
  const back = new AbortController();
  window.addEventListener('online', () => back.abort(), { once: true, signal: abort });
  await sleep(offlineMs, AbortSignal.any([abort, back.signal])).catch(() => {});
  isOffline.value = false;
  abort.throwIfAborted();
}

function sleep(ms: number, abort: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    abort.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(abort.reason);
    };
    const timer = setTimeout(() => {
      abort.removeEventListener('abort', stop);
      resolve();
    }, ms);
    abort.addEventListener('abort', stop, { once: true });
  });
}

restore()
  .catch(cannotKeep)
  .finally(() => {
    isRestored.value = true;
  });
