/**
 * Where the payload of an item goes while it streams in: into memory as long as it is small, and from there into
 * the blob store. Nothing can be found under the item's id before it has been verified and paid.
 */
import type { BlobStore, BlobWriter } from '../../storage/blobs/blobs.ts';
import type { DiskSpace, SpaceReservation } from '../../storage/disk-space.ts';
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
  /** Whether the blobs were noted for this payload and wait to be used, or are in use already. */
  readonly isNoted: boolean;
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
  readonly #disk: DiskSpace;
  #held: Buffer[] = [];
  #size = 0;
  #expected: number | undefined;
  #writer: BlobWriter | undefined;
  #room: SpaceReservation | undefined;

  constructor(blobs: BlobStore, disk: DiskSpace) {
    this.#blobs = blobs;
    this.#disk = disk;
  }

  /** Before the payload is read: takes room on the disk for what is known of its length. Throws `DiskNearlyFull`. */
  async makeRoom(bytes: number | undefined): Promise<void> {
    this.#expected = bytes;
    this.#room = await this.#disk.reserve(bytes ?? 0);
  }

  /** Await it to hold back-pressure. Throws `DiskNearlyFull` when more comes than there is room for. */
  async write(bytes: Buffer): Promise<void> {
    this.#room ??= await this.#disk.reserve(0);
    this.#room.use(bytes.length);
    this.#size += bytes.length;
    if (this.#writer !== undefined) {
      await this.#writer.write(bytes);
      return;
    }
    this.#held.push(bytes);
    if (this.#size <= inlineBytes) return;
    this.#writer = await this.#blobs.writer(this.#expected);
    const held = this.#held;
    this.#held = [];
    for (const piece of held) await this.#writer.write(piece);
  }

  get isInline(): boolean {
    return this.#writer === undefined;
  }

  /** Makes what was written durable. The blob is noted as unused before it is there, for the sweeper to find. */
  async commit(note: (segments: readonly Segment[]) => Promise<void>): Promise<StoredPayload> {
    if (this.#writer === undefined) {
      this.#room?.release();
      return { inline: Buffer.concat(this.#held), segments: [], isNoted: false };
    }
    const { digest, size } = await this.#writer.commit((name) =>
      note([{ digest: name, start: 0, size: this.#size }]),
    );
    this.#room?.release();
    return { inline: Buffer.alloc(0), segments: [{ digest, start: 0, size }], isNoted: true };
  }

  /** Forgets everything; does nothing after `commit`. */
  async abort(): Promise<void> {
    this.#held = [];
    try {
      await this.#writer?.abort();
    } finally {
      this.#room?.release();
    }
  }
}
