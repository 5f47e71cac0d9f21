/**
 * The bytes of bundles, made as they are needed from the items that are in them. A bundle is never written to disk: what
 * it holds is there already. The bytes of a small one stay in memory between the pass that makes its data root and the one
 * that gives its chunks to the network.
 *
 * What is mined damaged can never be mended. So the pass that makes the data root compares each item with its signature, which
 * covers all of its bytes, and every other one compares each blob with its digest.
 */
import { LRUCache } from 'lru-cache';
import { encodeBundleHeader } from '../../formats/ans104/bundle-header.ts';
import { ItemParser } from '../../formats/ans104/item-parser.ts';
import { DataRootBuilder, type DataTree } from '../../formats/arweave/data-root.ts';
import { decodeBase64url } from '../../formats/base64url.ts';
import { AtOnce } from '../../kernel/background/at-once.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { verifyItemAsync, verifyStreamed } from '../../wallets/data-items/verify.ts';
import { MissingBytes } from '../errors.ts';
import type { PayloadHashes } from '../hashing/payload-hash.ts';
import {
  type ComparedWith,
  findDamage,
  loadItem,
  parseSegments,
  readItemBytes,
  type Segment,
} from '../items/segments.ts';
import { readAhead } from './read-ahead.ts';

/** Rows that are fetched together. */
const page = 64;
const ahead = { most: 32, bytes: 8 * 1024 * 1024 };
/** Reads of blobs at the same time, for all bundles: uploads use the same store. Of files no more than threads that read. */
const readsAtOnce = { far: 32, near: 4 };
/** A larger item is not loaded ahead, but streamed when its turn comes. */
const streamedBytes = 256 * 1024;
const mostKeptOfOne = 8 * 1024 * 1024;
const mostKept = 4 * mostKeptOfOne;
const piece = 256 * 1024;
/** Of bundles between their preparation and their seeding; one that is not there is made again. */
const keptTrees = 16;
/** With more items than this that cannot be read, and none that can, it is the store and not the items. */
const fewItems = 8;
/** Further ones are found when the rest is read again. */
const mostFailures = 200;

const none = Buffer.alloc(0);

/** An item of a bundle whose bytes are not there, or not those that were uploaded. */
export class LostItem extends Error {
  override readonly name = 'LostItem';
  readonly id: string;
  /** Which of its blobs; empty where nobody knows. */
  readonly blob: string;

  constructor(id: string, cause?: unknown) {
    super(`the bytes of ${id} are lost`, { cause });
    this.id = id;
    this.blob = cause instanceof MissingBytes ? cause.blob : '';
  }
}

/** The items of a bundle cannot be read, and the store is to blame. */
class StoreAway extends Error {
  override readonly name = 'StoreAway';
}

export interface BundleReaderDeps {
  readonly sql: Sql;
  readonly blobs: BlobStore;
  readonly hashes: PayloadHashes;
}

interface ItemRow {
  readonly id: string;
  readonly size: number;
  readonly segments: readonly Segment[];
  readonly head: Buffer | null;
}

type Loaded =
  | { readonly row: ItemRow; readonly bytes: Buffer }
  | { readonly row: ItemRow; readonly error: unknown }
  /** To be streamed. */
  | { readonly row: ItemRow };

/** A piece of an item, or why the item cannot be read; `blob`: it is the last of one that came from the store. */
type Read =
  | { readonly bytes: Buffer; readonly blob: boolean }
  | { readonly id: string; readonly error: unknown };

/** What came of reading a bundle whole: its tree, or the items that are to be left out of it. */
export type Proven = { readonly tree: DataTree } | { readonly failed: readonly LostItem[] };

export class BundleReader {
  readonly #deps: BundleReaderDeps;
  readonly #reads: AtOnce;
  readonly #trees = new LRUCache<string, DataTree>({ max: keptTrees });
  readonly #kept = new LRUCache<string, Buffer>({
    maxSize: mostKept,
    sizeCalculation: (bytes) => bytes.length,
  });

  constructor(deps: BundleReaderDeps) {
    this.#deps = deps;
    this.#reads = new AtOnce(deps.blobs.assume === undefined ? readsAtOnce.near : readsAtOnce.far);
  }

  /** The whole bundle in order, in pieces of bounded size. Throws `LostItem`. */
  async *bytes(plan: string): AsyncGenerator<Buffer> {
    const kept = this.#kept.get(plan);
    if (kept === undefined) {
      for await (const read of this.#read(plan, false)) yield bytesOf(read);
      return;
    }
    for (let at = 0; at < kept.length; at += piece) yield kept.subarray(at, at + piece);
  }

  /** The proofs of all its chunks. Throws `LostItem`. */
  async tree(plan: string, signal: AbortSignal): Promise<DataTree> {
    const known = this.#trees.get(plan);
    if (known !== undefined) return known;
    const builder = new DataRootBuilder();
    for await (const bytes of this.bytes(plan)) {
      signal.throwIfAborted();
      builder.update(bytes);
    }
    return this.#remember(plan, builder);
  }

  /**
   * Reads it all before it is signed. An item that cannot be read, or is not what was uploaded, is answered and costs the
   * others nothing. Throws where it is the store that cannot be read.
   */
  async prove(plan: string, size: number, signal: AbortSignal): Promise<Proven> {
    this.forget(plan);
    const builder = new DataRootBuilder();
    const kept = size <= mostKeptOfOne ? Buffer.allocUnsafeSlow(size) : undefined;
    const failed: { readonly id: string; readonly error: unknown }[] = [];
    let read = 0;
    let hasBlobs = false;
    for await (const next of this.#read(plan, true)) {
      signal.throwIfAborted();
      if ('error' in next) {
        failed.push(next);
        if (isStore(failed) || failed.length === mostFailures) break;
        continue;
      }
      hasBlobs ||= next.blob;
      if (failed.length > 0) continue;
      builder.update(next.bytes);
      if (read + next.bytes.length <= size) kept?.set(next.bytes, read);
      read += next.bytes.length;
    }
    const [first] = failed;
    if (first === undefined) {
      if (read !== size) throw new Error(`bundle ${plan} has ${read} bytes, not ${size}`);
      if (kept !== undefined) this.#kept.set(plan, kept);
      return { tree: this.#remember(plan, builder) };
    }
    const isUnsure = failed.some(({ error }) => !(error instanceof MissingBytes));
    if (isStore(failed) || (!hasBlobs && (isUnsure || failed.length > fewItems)))
      throw new StoreAway(`${failed.length} items cannot be read from the blob store`, {
        cause: first.error,
      });
    return { failed: failed.map(({ id, error }) => new LostItem(id, error)) };
  }

  /** Its chunks were given to the network: it is hardly read again. */
  seeded(plan: string): void {
    this.#kept.delete(plan);
  }

  forget(plan: string): void {
    this.#kept.delete(plan);
    this.#trees.delete(plan);
  }

  #remember(plan: string, builder: DataRootBuilder): DataTree {
    const tree = builder.finish();
    this.#trees.set(plan, tree);
    return tree;
  }

  /** After an item that could not be read the next ones follow. */
  async *#read(plan: string, verifies: boolean): AsyncGenerator<Read> {
    const entries = await this.#deps.sql.all<{ id: string; size: number }>(
      'SELECT id, size FROM upload_items WHERE bundle = ? ORDER BY position',
      plan,
    );
    const header = encodeBundleHeader(entries.map(({ id, size }) => ({ id: decodeBase64url(id), size })));
    yield { bytes: header, blob: false };
    const load = (row: ItemRow): Promise<Loaded> => this.#load(row, verifies);
    const aheadBytes = ({ size }: ItemRow): number => (size > streamedBytes ? 0 : size);
    for await (const loaded of readAhead(this.#rows(plan, entries.length), aheadBytes, load, ahead)) {
      const { row } = loaded;
      if ('error' in loaded) yield { id: row.id, error: loaded.error };
      else if ('bytes' in loaded) yield { bytes: loaded.bytes, blob: row.segments.length > 0 };
      else yield* this.#stream(row, verifies);
    }
  }

  async *#rows(plan: string, count: number): AsyncGenerator<ItemRow> {
    for (let from = 0; from < count; from += page) {
      const rows = await this.#deps.sql.all<{
        id: string;
        size: number;
        segments: string | null;
        bytes: Buffer | null;
      }>(
        `SELECT i.id, i.size, i.segments, h.bytes FROM upload_items i LEFT JOIN upload_heads h ON h.id = i.id
         WHERE i.bundle = ? AND i.position >= ? ORDER BY i.position LIMIT ?`,
        plan,
        from,
        page,
      );
      for (const { id, size, segments, bytes } of rows)
        yield { id, size, segments: parseSegments(segments), head: bytes };
    }
  }

  async #load(row: ItemRow, verifies: boolean): Promise<Loaded> {
    const { id, size, segments, head } = row;
    try {
      if (head === null) throw new MissingBytes(`the header of ${id} is not there`);
      if (size > streamedBytes) return { row };
      const { blobs } = this.#deps;
      const loading = () => loadItem(blobs, head, segments, comparedWith(verifies));
      const bytes = segments.length === 0 ? head : await this.#reads.run(loading);
      checkSize(row, bytes.length);
      if (verifies) await this.#blaming(row, checkItem(id, bytes));
      return { row, bytes };
    } catch (error) {
      return { row, error };
    }
  }

  async *#stream(row: ItemRow, verifies: boolean): AsyncGenerator<Read> {
    const { id, size, segments, head } = row;
    const { blobs } = this.#deps;
    const check = verifies ? new StreamedItem(this.#deps.hashes, row) : undefined;
    try {
      let read = 0;
      const options = { comparedWith: comparedWith(verifies) };
      for await (const bytes of readItemBytes(blobs, head ?? none, segments, options)) {
        read += bytes.length;
        if (read > size) break;
        await check?.update(bytes);
        yield { bytes, blob: false };
      }
      checkSize(row, read);
      if (check !== undefined) await this.#blaming(row, check.finish());
      yield { bytes: none, blob: true };
    } catch (error) {
      yield { id, error };
    } finally {
      check?.release();
    }
  }

  /** Where the signature of an item does not fit, and a blob of it is to blame, that is what is thrown. */
  async #blaming({ head, segments }: ItemRow, checking: Promise<void>): Promise<void> {
    try {
      await checking;
    } catch (error) {
      await findDamage(this.#deps.blobs, head ?? none, segments);
      throw error;
    }
  }
}

/** The signature of an item that is not whole in memory at any time. */
class StreamedItem {
  readonly #id: string;
  readonly #parser = new ItemParser({ hash: false });
  readonly #hash: ReturnType<PayloadHashes['begin']>;

  constructor(hashes: PayloadHashes, { id, size }: ItemRow) {
    this.#id = id;
    this.#hash = hashes.begin(size);
  }

  async update(bytes: Buffer): Promise<void> {
    const payload = this.#parser.push(bytes);
    if (typeof payload === 'string') throw notTheItem(this.#id, payload);
    if (payload.length > 0) await this.#hash.update(payload);
  }

  async finish(): Promise<void> {
    const end = this.#parser.finish();
    if (typeof end === 'string') throw notTheItem(this.#id, end);
    const dataHash = await this.#hash.digest();
    if (end.header.id !== this.#id || !verifyStreamed({ ...end, dataHash }))
      throw notTheItem(this.#id, 'signature');
  }

  release(): void {
    this.#hash.release();
  }
}

const comparedWith = (verifies: boolean): ComparedWith => (verifies ? 'signature' : 'digests');

/** An item that is whole in memory. */
async function checkItem(id: string, bytes: Buffer): Promise<void> {
  const item = await verifyItemAsync(bytes);
  if (typeof item === 'string') throw notTheItem(id, item);
  if (item.header.id !== id) throw notTheItem(id, 'signature');
}

function checkSize({ id, size }: ItemRow, read: number): void {
  if (read !== size) throw new MissingBytes(`${id} has ${read} bytes, not ${size}`);
}

const notTheItem = (id: string, problem: string): MissingBytes =>
  new MissingBytes(`what is stored of ${id} is not what was uploaded: ${problem}`);

function bytesOf(read: Read): Buffer {
  if (!('error' in read)) return read.bytes;
  throw read.error instanceof MissingBytes ? new LostItem(read.id, read.error) : read.error;
}

/** Whether so many could not be read, though nobody knows that they are lost, that the store must be away. */
function isStore(failed: readonly { readonly error: unknown }[]): boolean {
  return failed.filter(({ error }) => !(error instanceof MissingBytes)).length > fewItems;
}
