/**
 * Items that only a subscribed index knows, read through the chunks of their root transaction. Every byte is proven
 * against the root's data root; that it is this item is seen from its signature, whose SHA-256 is the id and which is
 * verified over the whole, which a wrong size would break, before the last bytes or any part of them are sent.
 */
import { LRUCache } from 'lru-cache';
import { type ItemHeader, parseItemHeader } from '../../../formats/ans104/item-header.ts';
import { ItemParser } from '../../../formats/ans104/item-parser.ts';
import { atMost } from '../../../kernel/at-most.ts';
import { verifyStreamed } from '../../../wallets/data-items/verify.ts';
import { ChunkSource } from '../../chain/chunk-source.ts';
import type { Chunks } from '../../chain/chunks.ts';
import type { GatewayIndex } from '../../chain-index/gateway-index.ts';
import type { ContentSource } from '../../content/sources/source.ts';
import { upstreamFailed } from '../../errors.ts';
import type { InstalledBands, SubscribedPlace } from './installed.ts';

/** No item's header is longer. */
const maxHeaderBytes = 1024 * 1024;

export interface SubscribedContentDeps {
  readonly index: GatewayIndex;
  readonly chunks: Chunks;
  readonly bands: InstalledBands;
  /** Indexes a transaction that the index does not have, where the chain has it. */
  makeKnown(id: string): Promise<unknown>;
}

export function subscribedContent({ index, bands, ...deps }: SubscribedContentDeps): ContentSource {
  const chunks = new ChunkSource(index, deps.chunks);
  const items = new PlacedItems();

  return {
    name: 'subscribed-index',
    trusted: true,
    async open(id, located, range, _journey, signal) {
      if (located?.placement !== undefined) return undefined;
      const place = await bands.locate(id);
      if (place === undefined) return undefined;
      if ((await index.locate(place.root)) === undefined) await deps.makeKnown(place.root);
      const found = await items.open(id, place, range, async (start, end) => {
        const opened = await chunks.stream(place.root, { start, end }, signal);
        return opened !== undefined && opened.size >= end ? opened.stream : undefined;
      });
      if (found === undefined) return undefined;
      const { header, size, stream } = found;
      return {
        size,
        proven: true,
        hash: undefined,
        contentType: tag(header, 'content-type'),
        contentEncoding: tag(header, 'content-encoding'),
        hops: 0,
        stream,
      };
    },
  };
}

/** Proven bytes of the data of an item's root; undefined where they cannot be had. */
export type ReadRoot = (start: number, end: number) => Promise<AsyncIterable<Buffer> | undefined>;

export interface PlacedItem {
  readonly header: ItemHeader;
  readonly size: number;
  readonly stream: AsyncIterable<Buffer>;
}

/**
 * Items by their claimed places. Anybody can put the signature of one item before the bytes of another into a
 * bundle of their own: a part is given only of an item that was read whole and found right at that place before.
 */
export class PlacedItems {
  readonly #right = new LRUCache<string, true>(atMost(10_000));

  async open(
    id: string,
    place: SubscribedPlace,
    range: { readonly start: number; readonly end: number } | undefined,
    read: ReadRoot,
  ): Promise<PlacedItem | undefined> {
    const { itemOffset, dataOffset } = place;
    if (dataOffset - itemOffset > maxHeaderBytes) return undefined;
    const end = itemOffset + place.itemSize;
    const head = await read(itemOffset, dataOffset);
    if (head === undefined) return undefined;
    const header = parseItemHeader(await gathered(head), { lenient: true });
    if (typeof header === 'string' || header.id !== id || header.length !== dataOffset - itemOffset)
      return undefined;
    const size = end - dataOffset;
    const from = range?.start ?? 0;
    const to = Math.min(range?.end ?? size, size);
    const key = `${id} ${place.root} ${itemOffset} ${dataOffset} ${place.itemSize}`;
    const whole = async () => {
      const payload = size === 0 ? nothing() : await read(dataOffset, end);
      return payload && verified(header, payload, id, () => this.#right.set(key, true));
    };
    if (from === 0 && to === size) {
      const stream = await whole();
      return stream && { header, size, stream };
    }
    if (!this.#right.has(key)) {
      const stream = await whole();
      if (stream === undefined) return undefined;
      for await (const _piece of stream);
    }
    const stream = from >= to ? nothing() : await read(dataOffset + from, dataOffset + to);
    return stream && { header, size, stream };
  }
}

/** Holds each piece back until the next comes, and the last until the signature is known to be right. */
async function* verified(
  header: ItemHeader,
  payload: AsyncIterable<Buffer>,
  id: string,
  isRight: () => void,
): AsyncGenerator<Buffer> {
  const parser = new ItemParser({ lenient: true });
  parser.push(header.bytes);
  let held: Buffer | undefined;
  for await (const piece of payload) {
    parser.push(piece);
    if (held !== undefined) yield held;
    held = piece;
  }
  const end = parser.finish();
  if (typeof end === 'string' || !verifyStreamed(end, { lenient: true }))
    throw upstreamFailed(new Error(`the index misplaces ${id}: its signature is wrong`));
  isRight();
  if (held !== undefined) yield held;
}

function tag(header: ItemHeader, name: string): string | undefined {
  return header.tags.find((one) => one.name.toLowerCase() === name)?.value;
}

async function gathered(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* nothing(): AsyncGenerator<Buffer> {}

/** Where the payload of an item lies in the data of its root, as a subscribed index has it. */
export async function placeInRoot(
  bands: InstalledBands,
  id: string,
): Promise<{ root: string; start: number; end: number } | undefined> {
  const place = await bands.locate(id);
  if (place === undefined) return undefined;
  return { root: place.root, start: place.dataOffset, end: place.itemOffset + place.itemSize };
}
