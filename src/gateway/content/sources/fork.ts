/** Content of the network that is forked, for whoever asks this gateway itself. */
import type { ForkedChain } from '../../../fork/chain.ts';
import { ForkUnavailable } from '../../../fork/upstream.ts';
import { forkUnavailable, Unavailable, upstreamFailed } from '../../errors.ts';
import { type ContentSource, isOwn } from './source.ts';

export function forkedContent({ content, shown }: ForkedChain): ContentSource {
  return {
    name: 'fork',
    trusted: true,
    isOther: true,
    // Whoever forks us asks for our own.
    asks: isOwn,
    async open(id, located, range, _journey, signal) {
      // What this network has a record of is its own.
      if (located !== undefined) return undefined;
      const opened = await content.open(id, range, signal).catch((error: unknown) => {
        throw error instanceof ForkUnavailable ? forkUnavailable(error) : error;
      });
      if (opened === undefined) return undefined;
      if (opened === 'not-asked') throw new Unavailable(opened);
      const { size, hash, contentType, contentEncoding, verified, isKept } = opened;
      return {
        size,
        proven: false,
        hash,
        contentType,
        contentEncoding,
        hops: 1,
        fork: { shown, isVerified: verified, hash: isKept ? hash : undefined },
        stream: withUpstreamErrors(opened.stream),
        discard: opened.discard,
      };
    },
  };
}

async function* withUpstreamErrors(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* stream;
  } catch (error) {
    throw error instanceof ForkUnavailable ? forkUnavailable(error) : upstreamFailed(error);
  }
}
