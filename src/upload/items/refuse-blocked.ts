/** Whether the bytes of an item may be given back: by its id, its hash, where it lies, and what it holds as a bundle. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { BlockedPlaces } from '../../delivery/moderation/block-set.ts';
import type { Blocklist } from '../../delivery/moderation/blocklist.ts';
import { listedPlaces } from '../../delivery/moderation/bundle-list.ts';
import { atMost } from '../../kernel/at-most.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import { readLimited } from '../../outside/http.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import { uploadErrors } from '../errors.ts';
import type { StoredItem } from './item-rows.ts';
import { readItemBytes } from './segments.ts';

/** What is asked for. */
export interface AskedItem {
  readonly item: StoredItem;
  readonly head: Buffer;
  /** Of the item, header and all. */
  readonly span: Span;
  /** The chain transaction that it was posted in, where it was. */
  readonly root: string | undefined;
}

interface Held {
  readonly revision: number;
  readonly places: BlockedPlaces;
}

export class BlockedItems {
  readonly #list: Blocklist;
  readonly #blobs: BlobStore;
  /** Base64url SHA-256 of payloads: bytes of an id never change. */
  readonly #hashes = new LRUCache<string, string>(atMost(10_000));
  /** What a bundle holds of a list: a look may read a lot, and ranges of one bundle come one after the other. */
  readonly #held = new LRUCache<string, Held>({
    maxSize: 100_000,
    sizeCalculation: ({ places }) => places.size + 1,
  });

  constructor(list: Blocklist, blobs: BlobStore) {
    this.#list = list;
    this.#blobs = blobs;
  }

  /** Before anything is looked up. */
  refuseId(id: string): void {
    if (this.#list.blocksId(id)) throw uploadErrors.blocked(id);
  }

  async refuse(asked: AskedItem): Promise<void> {
    const list = this.#list;
    if (list.isEmpty) return;
    const { item, span, root } = asked;
    const { id, size, bundleOffset } = item;
    this.refuseId(id);
    if (list.wantsHashes && list.blocksHash(await this.#hashOf(asked))) throw uploadErrors.blocked(id);
    if (root !== undefined && bundleOffset !== null) {
      const place = (start: number, end: number): Span => ({
        start: bundleOffset + start,
        end: bundleOffset + end,
      });
      const part = list.blockedPart(root, place(0, size), place(span.start, span.end), id);
      if (part !== undefined) throw uploadErrors.blocked(part);
    }
    const held = await this.#heldBy(asked);
    const part = held.overlapping(id, { start: 0, end: size }, span);
    if (part !== undefined) throw uploadErrors.blocked(part);
  }

  async #heldBy(asked: AskedItem): Promise<BlockedPlaces> {
    const { revision } = this.#list;
    const known = this.#held.get(asked.item.id);
    if (known?.revision === revision) return known.places;
    const places = new BlockedPlaces();
    places.replace(await this.#listed(asked));
    this.#held.set(asked.item.id, { revision, places });
    return places;
  }

  /** Blocked items in a bundle that was uploaded as an item, and in the bundles in it, as regions of that item. */
  #listed({ item, head }: AskedItem) {
    const { id, size, payloadStart } = item;
    return listedPlaces(
      { root: id, start: payloadStart, size: size - payloadStart },
      ({ start, end }) =>
        readLimited(
          readItemBytes(this.#blobs, head, item.segments, {
            span: { start: payloadStart + start, end: payloadStart + end },
          }),
          end - start,
        ),
      (one) => this.#list.blocksId(one),
    );
  }

  async #hashOf({ item, head }: AskedItem): Promise<string> {
    const known = this.#hashes.get(item.id);
    if (known !== undefined) return known;
    const hash = createHash('sha256');
    const span = { start: item.payloadStart, end: item.size };
    for await (const piece of readItemBytes(this.#blobs, head, item.segments, { span })) hash.update(piece);
    const digest = hash.digest('base64url');
    this.#hashes.set(item.id, digest);
    return digest;
  }
}
