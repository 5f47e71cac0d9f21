/** Shared copies as places to read from: of the content itself, and of the bundle it is a part of. */
import { readAndClose } from '../../../delivery/streams.ts';
import type { GatewayIndex } from '../../chain-index/gateway-index.ts';
import { parentBundle } from '../sources/parent-bundle.ts';
import type { ContentSource } from '../sources/source.ts';
import type { SharedCopies } from './shared-copies.ts';

export function sharedContent(index: GatewayIndex, copies: SharedCopies): readonly ContentSource[] {
  const own: ContentSource = {
    name: 'shared',
    trusted: true,
    isCopy: true,
    async open(_id, located, range) {
      if (located?.hash === undefined) return undefined;
      const reader = await copies.open(Buffer.from(located.hash, 'base64url').toString('hex'));
      if (reader === undefined || reader.size !== located.size) {
        await reader?.close();
        return undefined;
      }
      return {
        size: located.size,
        // The store is not asked to prove anything: what it gives is compared with the hash.
        proven: false,
        hash: located.hash,
        contentType: undefined,
        contentEncoding: undefined,
        hops: 0,
        stream: readAndClose(reader, range?.start ?? 0, Math.min(range?.end ?? located.size, located.size)),
        discard: () => void reader.close(),
      };
    },
  };
  const bundle = parentBundle(index, copies);
  const part: ContentSource = {
    ...bundle,
    name: 'shared-bundle',
    async open(...asked) {
      const bytes = await bundle.open(...asked);
      return bytes && { ...bytes, proven: false };
    },
  };
  return [own, part];
}
