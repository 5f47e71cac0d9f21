/**
 * Bytes that were fetched before: in the store that gateways share, or as a region of a bundle's file, so that nothing is
 * fetched and nothing copied. And the chain itself, whose chunks are proven against the data root.
 */
import { readAndClose } from '../../../delivery/streams.ts';
import type { BlobStore } from '../../../storage/blobs/blobs.ts';
import type { ByteRange } from '../../chain/byte-source.ts';
import type { ChunkSource } from '../../chain/chunk-source.ts';
import type { GatewayIndex, Located } from '../../chain-index/gateway-index.ts';
import type { ContentSource, SourceBytes } from './source.ts';

type Copies = Pick<BlobStore, 'open'>;

/** An item whose bundle is in the cache. */
export function parentBundle(index: GatewayIndex, cache: Copies): ContentSource {
  return {
    name: 'parent-bundle',
    trusted: true,
    isCopy: true,
    async open(_id, located, range) {
      const placement = located?.placement;
      if (located === undefined || placement === undefined) return undefined;
      const root = await index.locate(placement.root);
      if (root?.hash === undefined) return undefined;
      const region = await openRegion(cache, root.hash, placement.dataOffsetInRoot, located, range);
      return region && { ...region, proven: root.verified };
    },
  };
}

/** Shared copies of the content itself, and of the bundle it is a part of: what they give is compared with the hash. */
export function sharedContent(index: GatewayIndex, copies: Copies): readonly ContentSource[] {
  const bundle = parentBundle(index, copies);
  return [
    {
      name: 'shared',
      trusted: true,
      isCopy: true,
      async open(_id, located, range) {
        if (located?.hash === undefined) return undefined;
        return await openRegion(copies, located.hash, 0, located, range, located.size);
      },
    },
    {
      ...bundle,
      name: 'shared-bundle',
      async open(...asked) {
        const bytes = await bundle.open(...asked);
        return bytes && { ...bytes, proven: false };
      },
    },
  ];
}

/** What was asked of content that begins at `offset` of the blob with that hash; undefined where the blob has another size. */
async function openRegion(
  copies: Copies,
  hash: string,
  offset: number,
  located: Located,
  range: ByteRange | undefined,
  blobSize?: number,
): Promise<SourceBytes | undefined> {
  const reader = await copies.open(Buffer.from(hash, 'base64url').toString('hex'));
  if (reader === undefined) return undefined;
  const { size } = located;
  const end = offset + Math.min(range?.end ?? size, size);
  if (end > reader.size || (blobSize ?? reader.size) !== reader.size) {
    await reader.close();
    return undefined;
  }
  return {
    size,
    proven: false,
    hash: located.hash,
    hops: 0,
    stream: readAndClose(reader, offset + (range?.start ?? 0), end),
    discard: () => void reader.close(),
  };
}

/** Chunk by chunk from nodes. */
export function chunkContent(chunks: ChunkSource): ContentSource {
  return {
    name: 'chunks',
    trusted: true,
    async open(id, located, range, _journey, signal) {
      if (located === undefined) return undefined;
      const opened = await chunks.stream(id, range, signal);
      return opened && { ...opened, hops: 0 };
    },
  };
}
