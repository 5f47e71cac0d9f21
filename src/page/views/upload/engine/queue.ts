/**
 * The files of an upload, a few at a time: read, signed one after another, sent, tried again, paused, resumed, cancelled.
 * What must not be lost is handed to `keep` at every step; how far a file is, to `changed`.
 */
import type { Tag } from '../../../../formats/avro-tags.ts';
import { ServiceError } from '../../../services/console.ts';
import type { Receipt, UploadTerms } from '../../../services/upload.ts';
import { WalletRefused } from '../../../wallet/wallet.ts';
import {
  type EntryState,
  isWorking,
  itemTags,
  type Problem,
  type SignedUpload,
  type UploadEntry,
} from './entry.ts';
import { fingerprintOf, isReadable } from './fingerprint.ts';
import { type RetryDeps, retrying } from './retry.ts';
import { isInParts, PartsRefused, sendInParts, type UploadService } from './send-parts.ts';

export interface SignOptions {
  readonly onRead: (bytes: number) => void;
  /** The file is read: the wallet is asked now. */
  readonly onSigning: () => void;
  readonly signal: AbortSignal;
}

export interface QueueDeps extends RetryDeps {
  readonly service: UploadService;
  sign(file: Blob, tags: readonly Tag[], options: SignOptions): Promise<SignedUpload>;
  terms(): Promise<UploadTerms>;
  /** Wallets that lent credits and pay first. */
  paidBy(): readonly string[];
  /** Some entry is another than before. */
  changed(entry: UploadEntry): void;
  /** Stores an entry where a reload finds it. */
  keep(entry: UploadEntry): void;
}

const filesAtOnce = 3;

/** Why nothing more of an upload would succeed now: the rest waits until the person has seen to it. */
const holdsOthers: ReadonlySet<Problem['kind']> = new Set(['refused', 'credits', 'connection', 'wallet']);

/** The file is another than the one that was signed. */
export class OtherFile extends Error {
  override readonly name = 'OtherFile';
}

export class UploadQueue {
  readonly #deps: QueueDeps;
  readonly #entries = new Map<string, UploadEntry>();
  readonly #files = new Map<string, Blob>();
  readonly #working = new Map<string, AbortController>();
  /** The wallet is asked for one signature at a time. */
  #signing: Promise<unknown> = Promise.resolve();

  constructor(deps: QueueDeps) {
    this.#deps = deps;
  }

  get entries(): readonly UploadEntry[] {
    return [...this.#entries.values()];
  }

  entry(key: string): UploadEntry | undefined {
    return this.#entries.get(key);
  }

  /** Until it is sent. */
  file(key: string): Blob | undefined {
    return this.#files.get(key);
  }

  /** Adds an entry. Without a file it waits for `giveFile`. */
  add(entry: UploadEntry, file: Blob | undefined): void {
    this.#entries.set(entry.key, entry);
    if (file !== undefined) this.#files.set(entry.key, file);
    this.#deps.changed(entry);
    this.#next();
  }

  /** Gives an entry its file again. Throws `OtherFile` where it is not the one that was signed. */
  async giveFile(key: string, file: Blob): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const isOther =
      file.size !== entry.size ||
      (entry.fingerprint !== undefined && entry.fingerprint !== (await fingerprintOf(file)));
    if (isOther) throw new OtherFile(entry.path);
    this.#files.set(key, file);
    this.#set(key, {});
    this.#next();
  }

  pause(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || !(isWorking(entry) || entry.state === 'waiting')) return;
    this.#set(key, { state: 'paused' });
    this.#stop(key);
  }

  pauseAll(): void {
    for (const key of this.#entries.keys()) this.pause(key);
  }

  /** Goes on with what was paused or failed. */
  resume(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || !(entry.state === 'paused' || entry.state === 'failed')) return;
    this.#set(key, { state: 'waiting', problem: undefined, doneBytes: 0 });
    this.#next();
  }

  resumeAll(): void {
    for (const key of this.#entries.keys()) this.resume(key);
  }

  cancel(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.state === 'sent') return;
    this.#set(key, { state: 'cancelled', problem: undefined });
    this.#stop(key);
    this.#next();
  }

  cancelAll(): void {
    for (const { key } of this.entries) this.cancel(key);
  }

  #stop(key: string): void {
    this.#working.get(key)?.abort();
  }

  #set(key: string, change: Partial<UploadEntry>): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    const entry = { ...before, ...change };
    this.#entries.set(key, entry);
    this.#deps.changed(entry);
    const isProgress = 'doneBytes' in change && Object.keys(change).length === 1;
    if (!isProgress) this.#deps.keep(entry);
  }

  #next(): void {
    for (const { key, state } of this.#entries.values()) {
      if (this.#working.size >= filesAtOnce) return;
      const file = this.#files.get(key);
      if (state === 'waiting' && file !== undefined && !this.#working.has(key)) void this.#run(key, file);
    }
  }

  async #run(key: string, file: Blob): Promise<void> {
    const abort = new AbortController();
    const { signal } = abort;
    this.#working.set(key, abort);
    try {
      const signed = this.#entries.get(key)?.signed ?? (await this.#sign(key, file, signal));
      signal.throwIfAborted();
      const receipt = await this.#send(key, file, signed, signal);
      signal.throwIfAborted();
      if (receipt.id !== signed.id) throw new ServiceError(502, 'The receipt is for another item.');
      this.#files.delete(key);
      this.#set(key, { state: 'sent', receipt, doneBytes: signed.size, session: undefined });
    } catch (error) {
      // Paused and cancelled ones say so already.
      if (!signal.aborted) await this.#fail(key, file, error);
    } finally {
      this.#working.delete(key);
      this.#next();
    }
  }

  /** What the wallet signed is kept even when the person has paused meanwhile: it need not be asked again. */
  async #sign(key: string, file: Blob, signal: AbortSignal): Promise<SignedUpload> {
    const turn = this.#signing.then(async () => {
      signal.throwIfAborted();
      const entry = this.#entries.get(key);
      if (entry === undefined) throw new OtherFile(key);
      // The wallet answered while it was paused.
      if (entry.signed !== undefined) return entry.signed;
      this.#set(key, { state: 'reading', doneBytes: 0 });
      const fingerprint = await fingerprintOf(file);
      const step = (state: EntryState): void => {
        if (!signal.aborted) this.#set(key, { state });
      };
      try {
        const signed = await this.#deps.sign(file, itemTags(entry), {
          signal,
          onRead: (doneBytes) => {
            if (!signal.aborted) this.#set(key, { doneBytes });
          },
          onSigning: () => step('signing'),
        });
        this.#set(key, { signed, fingerprint });
        return signed;
      } catch (error) {
        // Before it is the next one's turn: who said no is not asked again.
        if (error instanceof WalletRefused) this.#hold(key);
        throw error;
      }
    });
    this.#signing = turn.catch(() => {});
    return Promise.race([turn, aborted(signal)]);
  }

  async #send(key: string, file: Blob, signed: SignedUpload, signal: AbortSignal): Promise<Receipt> {
    const { service } = this.#deps;
    const item = new Blob([signed.header, file]);
    const terms = await retrying(this.#deps, signal, () => this.#deps.terms());
    const { token } = signed;
    const paidBy = this.#deps.paidBy();
    const onSent = (bytes: number): void => {
      if (!signal.aborted) this.#set(key, { doneBytes: Math.min(bytes, item.size) });
    };
    this.#set(key, { state: 'sending', doneBytes: 0 });
    if (!isInParts(item.size, terms)) {
      return retrying(this.#deps, signal, async () => {
        try {
          return await service.sendItem(token, item, { signal, onSent, paidBy });
        } catch (error) {
          await failUnreadable(file, error);
          throw error;
        }
      });
    }
    const session = this.#entries.get(key)?.session;
    return sendInParts(service, this.#deps, {
      token,
      item,
      terms,
      session,
      paidBy,
      signal,
      onSent,
      onSession: (begun) => this.#set(key, { session: begun }),
      onFinishing: () => {
        if (!signal.aborted) this.#set(key, { state: 'finishing', doneBytes: item.size });
      },
    });
  }

  async #fail(key: string, file: Blob, error: unknown): Promise<void> {
    const isGone = !(await isReadable(file));
    const problem: Problem = isGone ? { kind: 'unreadable', text: '' } : problemOf(error);
    // Bytes that do not fit their signature are signed anew.
    const isSpoilt = error instanceof PartsRefused || problem.kind === 'unreadable';
    if (problem.kind === 'unreadable') this.#files.delete(key);
    this.#set(key, {
      state: 'failed',
      problem,
      ...(isSpoilt && { session: undefined, signed: undefined, fingerprint: undefined }),
    });
    if (holdsOthers.has(problem.kind)) this.#hold(key);
  }

  /** The others that have not begun wait until the person says otherwise. */
  #hold(failed: string): void {
    for (const { key, state } of this.#entries.values()) {
      if (state === 'waiting' && key !== failed) this.pause(key);
    }
  }
}

/** A lost connection and a file that cannot be read look alike to who sends it. */
async function failUnreadable(file: Blob, error: unknown): Promise<void> {
  if (error instanceof ServiceError && error.status === 0 && !(await isReadable(file))) {
    throw new OtherFile('unreadable');
  }
}

function problemOf(error: unknown): Problem {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof WalletRefused) return { kind: 'refused', text };
  if (error instanceof OtherFile) return { kind: 'unreadable', text };
  if (error instanceof PartsRefused) return { kind: 'service', text };
  if (!(error instanceof ServiceError)) return { kind: 'wallet', text };
  if (error.status === 402) return { kind: 'credits', text };
  return { kind: error.status === 0 ? 'connection' : 'service', text };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
