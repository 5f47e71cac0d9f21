/** An item whose bundle is in the cache is a region of the bundle's file: nothing is fetched, nothing copied. */
import { readAndClose } from '../../../delivery/streams.ts';
import type { BlobStore } from '../../../storage/blobs/blobs.ts';
import type { GatewayIndex } from '../../chain-index/gateway-index.ts';
import type { ContentSource } from './source.ts';

export function parentBundle(index: GatewayIndex, cache: Pick<BlobStore, 'open'>): ContentSource {
  return {
    name: 'parent-bundle',
    trusted: true,
    isCopy: true,
    async open(_id, located, range) {
      const placement = located?.placement;
      if (located === undefined || placement === undefined) return undefined;
      const root = await index.locate(placement.root);
      if (root?.hash === undefined) return undefined;
      const reader = await cache.open(Buffer.from(root.hash, 'base64url').toString('hex'));
      if (reader === undefined) return undefined;
      const from = placement.dataOffsetInRoot;
      const start = from + (range?.start ?? 0);
      const end = from + Math.min(range?.end ?? located.size, located.size);
      if (end > reader.size) {
        await reader.close();
        return undefined;
      }
      return {
        size: located.size,
        proven: root.verified,
        hash: located.hash,
        contentType: undefined,
        contentEncoding: undefined,
        hops: 0,
        stream: readAndClose(reader, start, end),
        discard: () => void reader.close(),
      };
    },
  };
}
