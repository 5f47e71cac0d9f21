/**
 * Items that only a subscribed index knows, read through the chunks of their root transaction. Every byte is proven
 * against the root's data root; that it is this item is seen from its signature, whose SHA-256 is the id; and when
 * it is read whole its signature is verified, which a wrong size would break, before the last bytes are let go.
 */
import { type ItemHeader, parseItemHeader } from '../../../formats/ans104/item-header.ts';
import { ItemParser } from '../../../formats/ans104/item-parser.ts';
import { verifyStreamed } from '../../../wallets/data-items/verify.ts';
import { ChunkSource } from '../../chain/chunk-source.ts';
import type { GatewayContext } from '../../context.ts';
import type { ContentSource } from '../../data/sources/source.ts';
import { upstreamFailed } from '../../errors.ts';
import type { InstalledBands, SubscribedPlace } from './installed.ts';

/** No item's header is longer. */
const maxHeaderBytes = 1024 * 1024;

export function subscribedContent(
  context: Pick<GatewayContext, 'index' | 'chunks' | 'writers'>,
  bands: InstalledBands,
): ContentSource {
  const chunks = new ChunkSource(context.index, context.chunks);

  /** Proven bytes of the root's data. */
  async function read(place: SubscribedPlace, start: number, end: number, signal: AbortSignal) {
    const opened = await chunks.stream(place.root, { start, end }, signal);
    return opened !== undefined && opened.size >= end ? opened.stream : undefined;
  }

  return {
    name: 'subscribed-index',
    trusted: true,
    async open(id, located, range, _journey, signal) {
      if (located?.placement !== undefined) return undefined;
      const place = await bands.locate(id);
      if (place === undefined || place.dataOffset - place.itemOffset > maxHeaderBytes) return undefined;
      const root = await context.index.locate(place.root);
      if (root === undefined) await context.writers?.queueTransaction(place.root);
      const { itemOffset, dataOffset } = place;
      const end = itemOffset + place.itemSize;
      const head = await read(place, itemOffset, dataOffset, signal);
      if (head === undefined) return undefined;
      const header = parseItemHeader(await gathered(head), { lenient: true });
      if (typeof header === 'string' || header.id !== id || header.length !== dataOffset - itemOffset)
        return undefined;
      const size = end - dataOffset;
      const from = range?.start ?? 0;
      const to = Math.min(range?.end ?? size, size);
      const whole = from === 0 && to === size;
      const payload = from >= to ? nothing() : await read(place, dataOffset + from, dataOffset + to, signal);
      if (payload === undefined) return undefined;
      return {
        size,
        proven: true,
        hash: undefined,
        contentType: tag(header, 'content-type'),
        contentEncoding: tag(header, 'content-encoding'),
        hops: 0,
        stream: whole ? verified(header, payload, id) : payload,
      };
    },
  };
}

/** Holds each piece back until the next comes, and the last until the signature is known to be right. */
async function* verified(
  header: ItemHeader,
  payload: AsyncIterable<Buffer>,
  id: string,
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
