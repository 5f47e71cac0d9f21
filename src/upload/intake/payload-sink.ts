/**
 * Where the payload of an item goes while it streams in: into memory as long as it is small, and from there into
 * the blob store. Nothing can be found under the item's id before it has been verified and paid.
 */
import type { BlobStore, BlobWriter } from '../../storage/blobs/blobs.ts';
import type { PayloadHash } from '../hashing/payload-hash.ts';
import type { Segment } from '../items/segments.ts';

/**
 * Payloads up to this size live in the database: one durable commit, shared with others, instead of a file and
 * its folder to sync for each.
 */
export const inlineBytes = 8 * 1024;

export interface StoredPayload {
  /** The payload itself when it is small, else empty. */
  readonly inline: Buffer;
  readonly segments: readonly Segment[];
}

/**
 * Writes a piece of a payload and hashes it at the same time. Ends only when both have: a hash that is still busy with
 * a refused upload must not go on to the next, whose bytes would be mixed with these.
 */
export async function writeHashed(
  sink: Pick<PayloadSink, 'write'>,
  hash: Pick<PayloadHash, 'update'>,
  bytes: Buffer,
): Promise<void> {
  const hashing = hash.update(bytes);
  try {
    await sink.write(bytes);
  } finally {
    await hashing;
  }
}

export class PayloadSink {
  readonly #blobs: BlobStore;
  #held: Buffer[] = [];
  #size = 0;
  #writer: BlobWriter | undefined;

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  /** Await it to hold back-pressure. */
  async write(bytes: Buffer): Promise<void> {
    this.#size += bytes.length;
    if (this.#writer !== undefined) {
      await this.#writer.write(bytes);
      return;
    }
    this.#held.push(bytes);
    if (this.#size <= inlineBytes) return;
    this.#writer = await this.#blobs.writer();
    const held = this.#held;
    this.#held = [];
    for (const piece of held) await this.#writer.write(piece);
  }

  get isInline(): boolean {
    return this.#writer === undefined;
  }

  /** Makes what was written durable. The blob is noted as unused before it is there, for the sweeper to find. */
  async commit(note: (segments: readonly Segment[]) => Promise<void>): Promise<StoredPayload> {
    if (this.#writer === undefined) return { inline: Buffer.concat(this.#held), segments: [] };
    const { digest, size } = await this.#writer.commit((name) =>
      note([{ digest: name, start: 0, size: this.#size }]),
    );
    return { inline: Buffer.alloc(0), segments: [{ digest, start: 0, size }] };
  }

  /** Forgets everything; does nothing after `commit`. */
  async abort(): Promise<void> {
    this.#held = [];
    await this.#writer?.abort();
  }
}
