/** The chain itself: chunk by chunk from nodes, each proven against the data root. */
import type { ChunkSource } from '../../chain/chunk-source.ts';
import type { ContentSource } from './source.ts';

export function chunkContent(chunks: ChunkSource): ContentSource {
  return {
    name: 'chunks',
    trusted: true,
    async open(id, located, range, _journey, signal) {
      if (located === undefined) return undefined;
      const opened = await chunks.stream(id, range, signal);
      if (opened === undefined) return undefined;
      return { ...opened, contentType: undefined, contentEncoding: undefined, hops: 0 };
    },
  };
}
