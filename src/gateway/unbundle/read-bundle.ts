/**
 * Reads a bundle in one pass with bounded memory. Items travel to the worker threads in batches, a few batches at a
 * time; an item too large for that is hashed as it streams by. What is wrong with one item costs that item only.
 */
import { createHash, hash } from 'node:crypto';
import {
  type BundleHeader,
  type BundleProblem,
  bundleCountBytes,
  bundleProblems,
  measureBundleHeader,
  parseBundleHeader,
} from '../../formats/ans104/bundle-header.ts';
import type { ItemHeader } from '../../formats/ans104/item-header.ts';
import { ItemParser } from '../../formats/ans104/item-parser.ts';
import type { Pool } from '../../kernel/pool/pool.ts';
import { verifyStreamed } from '../../wallets/data-items/verify.ts';
import { DATA_ITEM } from '../chain-index/order.ts';
import type { Header } from '../chain-index/records.ts';
import { unpackRawTags } from '../chain-index/tags.ts';
import { lengthCells, type ReadBatch, rawTagsOf } from './item-columns.ts';

export type UnbundleTasks = typeof import('./tasks.ts');

/** A valid item and where it is in the bundle. */
export interface ReadItem {
  readonly header: Header;
  readonly payloadHash: Buffer;
  readonly itemOffset: number;
  readonly dataOffset: number;
  readonly itemSize: number;
}

export interface BundleSummary {
  readonly itemCount: number;
  readonly duplicatedCount: number;
  readonly invalidCount: number;
  /** What is odd about the bundle and cost none of its items; undefined where nothing is. */
  readonly remark: string | undefined;
  /** SHA-256 of all bytes of the bundle. */
  readonly hash: Buffer;
}

/** The bytes are no bundle, whatever their tags say: trying again makes no sense. */
export class BadBundle extends Error {
  override readonly name = 'BadBundle';

  constructor(problem: BundleProblem) {
    super(bundleProblems[problem]);
  }
}

export interface ReadBundleOptions {
  readonly pool: Pool<UnbundleTasks>;
  readonly size: number;
  /** Called in the order of the bundle, for a second batch before it resolves for the first, and for no third. */
  readonly items: (items: readonly ReadItem[]) => Promise<void>;
  readonly maxItems?: number;
  /** Items that are handed over at once, at most. */
  readonly batchItems?: number;
  /** Batches on the threads at once. */
  readonly inFlight?: number;
}

const lenient = { lenient: true };
const defaultBatchItems = 128;
const batchBytes = 2 * 1024 * 1024;
/** While one waits for the disk another is prepared. */
const handedAtOnce = 2;
/** Items up to this size are read whole on a thread. */
const wholeItemBytes = 8 * 1024 * 1024;

export async function readBundle(
  stream: AsyncIterable<Buffer>,
  options: ReadBundleOptions,
): Promise<BundleSummary> {
  const whole = createHash('sha256');
  const feed = new ByteFeed(stream, (piece) => whole.update(piece));
  try {
    const header = await readHeader(feed, options.size, options.maxItems ?? 1_000_000);
    const reader = new ItemReader(feed, header, options);
    await reader.run();
    await feed.skip();
    if (feed.position < options.size) throw new BadBundle('truncated-bundle');
    if (feed.position > options.size) throw new BadBundle('trailing-bytes');
    return {
      itemCount: header.count,
      duplicatedCount: reader.duplicated,
      invalidCount: reader.invalid + header.count - header.wholeCount,
      remark: remarkOn(header, options.size),
      hash: whole.digest(),
    };
  } finally {
    await feed.close();
  }
}

function remarkOn({ count, wholeCount, bundleBytes }: BundleHeader, size: number): string | undefined {
  const rest = size - bundleBytes;
  if (wholeCount < count) return `items from number ${wholeCount + 1} on reach beyond the end of the bundle`;
  return rest === 0 ? undefined : `${rest} bytes after the last item`;
}

async function readHeader(feed: ByteFeed, size: number, maxItems: number): Promise<BundleHeader> {
  const count = Buffer.alloc(bundleCountBytes);
  if (!(await feed.fill(count))) throw new BadBundle('truncated-bundle');
  const length = measureBundleHeader(count, size, lenient);
  if (typeof length === 'string') throw new BadBundle(length);
  if (length > bundleCountBytes + 64 * maxItems) throw new BadBundle('item-count');
  const bytes = Buffer.alloc(length);
  bytes.set(count);
  if (!(await feed.fill(bytes.subarray(bundleCountBytes)))) throw new BadBundle('truncated-bundle');
  const header = parseBundleHeader(bytes, size, lenient);
  if (typeof header === 'string') throw new BadBundle(header);
  // Not one item where the header says: it only looks like a header.
  if (header.count > 0 && header.wholeCount === 0) throw new BadBundle('item-size');
  return header;
}

class ItemReader {
  readonly #feed: ByteFeed;
  readonly #header: BundleHeader;
  readonly #options: ReadBundleOptions;
  readonly #first = new Map<number, number>();
  readonly #pending: { first: number; batch: Promise<ReadBatch> }[] = [];
  readonly #handed: Promise<void>[] = [];
  duplicated = 0;
  invalid = 0;

  constructor(feed: ByteFeed, header: BundleHeader, options: ReadBundleOptions) {
    this.#feed = feed;
    this.#header = header;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { wholeCount: count, sizes } = this.#header;
    const inFlight = this.#options.inFlight ?? 4;
    try {
      for (let at = 0; at < count; ) {
        if ((sizes[at] ?? 0) > wholeItemBytes) {
          await this.#drain(0);
          await this.#readLarge(at);
          at += 1;
        } else {
          at = await this.#readBatch(at);
          await this.#drain(inFlight - 1);
        }
      }
      await this.#drain(0);
      await Promise.all(this.#handed);
    } catch (error) {
      // What is still at work must not fail unheard, nor write after the bundle was given up.
      for (const { batch } of this.#pending) batch.catch(() => {});
      await Promise.allSettled(this.#handed);
      throw error;
    }
  }

  async #hand(items: readonly ReadItem[]): Promise<void> {
    if (this.#handed.length >= handedAtOnce) await this.#handed.shift();
    const handed = this.#options.items(items);
    // Told by whoever awaits it.
    handed.catch(() => {});
    this.#handed.push(handed);
  }

  /** Fills one batch from the feed and hands it to a thread; answers the index after it. */
  async #readBatch(first: number): Promise<number> {
    const { wholeCount: count, sizes, offsets } = this.#header;
    const { batchItems = defaultBatchItems } = this.#options;
    let end = first;
    let bytes = 0;
    while (end < count && end - first < batchItems) {
      const size = sizes[end] ?? 0;
      if (size > wholeItemBytes || (end > first && bytes + size > batchBytes)) break;
      bytes += size;
      end += 1;
    }
    const buffer = new ArrayBuffer(bytes);
    if (!(await this.#feed.fill(new Uint8Array(buffer)))) throw new BadBundle('truncated-bundle');
    const start = offsets[first] ?? 0;
    const ids = new Uint8Array((end - first) * 32);
    for (let at = first; at < end; at += 1) ids.set(this.#header.idBytes(at), (at - first) * 32);
    const batch = this.#options.pool.run(
      'readItems',
      {
        bytes: buffer,
        offsets: Float64Array.from(offsets.subarray(first, end), (offset) => offset - start),
        sizes: sizes.slice(first, end),
        ids,
      },
      [buffer],
    );
    batch.catch(() => {});
    this.#pending.push({ first, batch });
    return end;
  }

  /** Hands over finished batches, oldest first, until at most `keep` are on the threads. */
  async #drain(keep: number): Promise<void> {
    while (this.#pending.length > keep) {
      const next = this.#pending.shift();
      if (next !== undefined) await this.#hand(this.#itemsOf(next.first, await next.batch));
    }
  }

  #itemsOf(first: number, batch: ReadBatch): ReadItem[] {
    const items: ReadItem[] = [];
    const { verdicts, lengths, digests } = batch;
    const fields = Buffer.from(batch.fields.buffer);
    let at = 0;
    const take = (length: number): Buffer => {
      const field = fields.subarray(at, at + length);
      at += length;
      return field;
    };
    for (let offset = 0; offset < verdicts.length; offset += 1) {
      const index = first + offset;
      if (verdicts[offset] !== 0) {
        this.invalid += 1;
        continue;
      }
      const cell = (number: number) => lengths[offset * lengthCells + number] ?? 0;
      const signature = take(cell(2));
      const ownerKey = take(cell(3));
      const target = take(cell(4));
      const anchor = take(cell(5));
      const tags = take(cell(6));
      if (this.#isDuplicate(index)) continue;
      const owner = Buffer.from(digests.buffer, offset * 64, 32);
      items.push(
        this.#item(index, cell(1), Buffer.from(digests.buffer, offset * 64 + 32, 32), {
          signature,
          ownerKey,
          ownerAddress: owner,
          signatureType: cell(0),
          target: orNull(target),
          anchor: orNull(anchor),
          tags: unpackRawTags(tags),
        }),
      );
    }
    return items;
  }

  /** Hashes a large item as it streams by; the threads are not needed for one signature. */
  async #readLarge(index: number): Promise<void> {
    const parser = new ItemParser({ lenient: true });
    const payload = createHash('sha256');
    let broken = false;
    for (let left = this.#header.sizes[index] ?? 0; left > 0; ) {
      const piece = await this.#feed.some(left);
      if (piece === undefined) throw new BadBundle('truncated-bundle');
      left -= piece.length;
      if (broken) continue;
      const bytes = parser.push(piece);
      if (typeof bytes === 'string') broken = true;
      else payload.update(bytes);
    }
    const end = broken ? 'truncated' : parser.finish();
    if (
      typeof end === 'string' ||
      !end.header.idBytes.equals(this.#header.idBytes(index)) ||
      !verifyStreamed(end, { lenient: true })
    ) {
      this.invalid += 1;
      return;
    }
    if (this.#isDuplicate(index)) return;
    await this.#hand([this.#item(index, end.header.length, payload.digest(), signedFields(end.header))]);
  }

  #item(index: number, headerLength: number, payloadHash: Buffer, signed: SignedFields): ReadItem {
    const itemOffset = this.#header.offsets[index] ?? 0;
    const itemSize = this.#header.sizes[index] ?? 0;
    return {
      header: indexHeader(signed, Buffer.from(this.#header.idBytes(index)), itemSize - headerLength),
      payloadHash,
      itemOffset,
      dataOffset: itemOffset + headerLength,
      itemSize,
    };
  }

  /** The first of several items with one id counts. Ids are compared in full when their first bytes agree. */
  #isDuplicate(index: number): boolean {
    const id = this.#header.idBytes(index);
    const key = id.readUIntBE(0, 6);
    const earlier = this.#first.get(key);
    if (earlier === undefined) {
      this.#first.set(key, index);
      return false;
    }
    if (!this.#header.idBytes(earlier).equals(id)) return false;
    this.duplicated += 1;
    return true;
  }
}

/** A stream of pieces read by length: exactly so many bytes, or piece by piece up to so many. */
class ByteFeed {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);
  #position = 0;
  /** Sees every byte once, in order. */
  readonly #seen: ((piece: Buffer) => void) | undefined;

  constructor(stream: AsyncIterable<Buffer>, seen?: (piece: Buffer) => void) {
    this.#pieces = stream[Symbol.asyncIterator]();
    this.#seen = seen;
  }

  get position(): number {
    return this.#position;
  }

  /** The next bytes, at most `limit`; undefined at the end of the stream. */
  async some(limit: number): Promise<Buffer | undefined> {
    while (this.#rest.length === 0) {
      const next = await this.#pieces.next();
      if (next.done === true) return undefined;
      this.#rest = next.value;
      this.#seen?.(this.#rest);
    }
    const piece = this.#rest.subarray(0, limit);
    this.#rest = this.#rest.subarray(piece.length);
    this.#position += piece.length;
    return piece;
  }

  /** Fills the target; false when the stream ends before. */
  async fill(target: Uint8Array): Promise<boolean> {
    for (let at = 0; at < target.length; ) {
      const piece = await this.some(target.length - at);
      if (piece === undefined) return false;
      target.set(piece, at);
      at += piece.length;
    }
    return true;
  }

  /** Reads to the end. */
  async skip(): Promise<void> {
    while ((await this.some(Number.POSITIVE_INFINITY)) !== undefined);
  }

  /** Lets the source stop; safe after the end too. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}

/** What an item's own header says of it, as the index keeps it. */
type SignedFields = Pick<
  Header,
  'signature' | 'ownerKey' | 'ownerAddress' | 'signatureType' | 'target' | 'anchor' | 'tags'
>;

/** An item's header as the index and filters have it. */
export function headerOfItem(header: ItemHeader, id: Buffer, itemSize: number): Header {
  return indexHeader(signedFields(header), id, itemSize - header.length);
}

function indexHeader(signed: SignedFields, id: Buffer, dataSize: number): Header {
  return {
    ...signed,
    id,
    kind: DATA_ITEM,
    format: 0,
    quantity: '0',
    reward: '0',
    denomination: 0,
    dataSize,
    dataRoot: null,
  };
}

function signedFields(header: ItemHeader): SignedFields {
  return {
    signature: header.signature,
    ownerKey: header.owner,
    ownerAddress: hash('sha256', header.owner, 'buffer'),
    signatureType: header.signatureType,
    target: orNull(header.target),
    anchor: orNull(header.anchor),
    tags: rawTagsOf(header),
  };
}

function orNull(bytes: Buffer): Buffer | null {
  return bytes.length === 0 ? null : bytes;
}
