/**
 * The deep hash of uploads in parts, taken while the parts come in: one that follows what is hashed already is hashed
 * as it streams, one that came too early is read from the store when it is its turn. The finalizer then reads what is
 * left, which mostly is nothing. It is known to this process alone and may be gone at any time: then the parts are
 * read once more.
 */
import { LRUCache } from 'lru-cache';
import type { ItemHeader } from '../../formats/ans104/item-header.ts';
import { ItemParser } from '../../formats/ans104/item-parser.ts';
import { DeepHashBlob } from '../../formats/deep-hash.ts';
import { atMost } from '../../kernel/at-most.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { readItemBytes } from '../items/segments.ts';
import { asSegment, type PartRow } from './sessions.ts';

/** What is hashed of an upload: parts from the first on, without a gap. Never changed, only replaced. */
export interface Hashed {
  readonly parts: readonly PartRow[];
  readonly header: ItemHeader;
  /** To be copied before it takes more. */
  readonly hash: DeepHashBlob;
  /** How many bytes that is. */
  readonly end: number;
}

const kept = 1_000;
const none = Buffer.alloc(0);

/** One part on top of what is hashed. */
export class PartHash {
  readonly before: Hashed | undefined;
  readonly #parser = new ItemParser({ hash: false });
  readonly #hash: DeepHashBlob;

  constructor(before: Hashed | undefined) {
    this.before = before;
    this.#hash = before?.hash.copy() ?? new DeepHashBlob();
  }

  update(piece: Buffer): void {
    const payload = this.before === undefined ? this.#parser.push(piece) : piece;
    if (typeof payload !== 'string') this.#hash.update(payload);
  }

  /** Undefined where the first part has no whole header of an item. */
  finish(part: PartRow): Hashed | undefined {
    const header = this.before?.header ?? this.#parser.header;
    if (header === undefined) return undefined;
    const parts = [...(this.before?.parts ?? []), part];
    return { parts, header, hash: this.#hash, end: part.start + part.size };
  }
}

export class RunningHashes {
  readonly #sql: Sql;
  readonly #blobs: BlobStore;
  readonly #sessions = new LRUCache<string, Hashed>(atMost(kept));
  readonly #catchingUp = new Map<string, Promise<void>>();

  constructor({ sql, blobs }: { readonly sql: Sql; readonly blobs: BlobStore }) {
    this.#sql = sql;
    this.#blobs = blobs;
  }

  /** For a part that begins to come in; undefined where it is not its turn. */
  follow(session: string, start: number): PartHash | undefined {
    const before = this.#sessions.get(session);
    return start === (before?.end ?? 0) ? new PartHash(before) : undefined;
  }

  /** A part is stored now. */
  arrived(session: string, part: PartRow, hash: PartHash | undefined): void {
    if (hash !== undefined) this.#advance(session, hash, part);
    if (this.#catchingUp.has(session) || !this.#sessions.has(session)) return;
    const reading = this.#catchUp(session)
      // The finalizer meets the same failure, and says so.
      .catch(() => this.forget(session))
      .finally(() => this.#catchingUp.delete(session));
    this.#catchingUp.set(session, reading);
  }

  /** What is hashed of exactly these parts. */
  async of(session: string, parts: readonly PartRow[]): Promise<Hashed | undefined> {
    await this.#catchingUp.get(session);
    const hashed = this.#sessions.get(session);
    return hashed?.parts.every((part, at) => isSame(part, parts[at])) === true ? hashed : undefined;
  }

  forget(session: string): void {
    this.#sessions.delete(session);
  }

  /** Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#sessions.clear();
    await Promise.all(this.#catchingUp.values());
  }

  /** False where another part has gone on from the same place meanwhile, or nothing can be made of it. */
  #advance(session: string, hash: PartHash, part: PartRow): boolean {
    const after = this.#sessions.get(session) === hash.before ? hash.finish(part) : undefined;
    if (after !== undefined) this.#sessions.set(session, after);
    return after !== undefined;
  }

  async #catchUp(session: string): Promise<void> {
    for (;;) {
      const before = this.#sessions.get(session);
      if (before === undefined) return;
      const next = await this.#sql.get<PartRow>(
        'SELECT start, size, digest FROM upload_parts WHERE session = ? AND start = ?',
        session,
        before.end,
      );
      if (next === undefined) return;
      const hash = new PartHash(before);
      const options = { comparedWith: 'signature' } as const;
      for await (const piece of readItemBytes(this.#blobs, none, [asSegment(next)], options)) {
        if (this.#sessions.get(session) !== before) return;
        hash.update(piece);
      }
      if (!this.#advance(session, hash, next)) return;
    }
  }
}

const isSame = (one: PartRow, other: PartRow | undefined): boolean =>
  one.start === other?.start && one.size === other.size && one.digest === other.digest;
