/**
 * A look at a permanent bundle: its header, and chunks that are chosen by chance, read back and proven. Where one of them
 * is missing, and while a bundle is not mended, all of its chunks are asked for.
 */
import { memberOf } from '../../formats/json.ts';
import type { ArweaveNodes } from '../../outside/arweave/nodes.ts';
import type { BundleRow } from '../bundler/bundle-rows.ts';
import {
  type BundleData,
  type ChunkRange,
  chunksOf,
  dataOf,
  decided,
  placeOf,
  provenChunk,
  someOf,
} from '../bundler/chain-chunks.ts';

export type Finding =
  | { readonly kind: 'whole' }
  /** No node has its transaction in a block, or none says where its data lies: no chunk can be given. */
  | { readonly kind: 'gone'; readonly what: string }
  | {
      readonly kind: 'damaged';
      readonly place: bigint;
      readonly missing: readonly ChunkRange[];
      readonly chunks: number;
    };

export interface Look {
  readonly finding: Finding;
  /** Chunks that nodes were asked for. */
  readonly asked: number;
}

const asksAtOnce = 4;

/** Throws while nodes that may have it do not answer. */
export async function lookAtBundle(
  nodes: ArweaveNodes,
  bundle: BundleRow,
  samples: number,
  signal: AbortSignal,
): Promise<Look> {
  const data = dataOf(bundle);
  const gone = (what: string): Look => ({ finding: { kind: 'gone', what }, asked: 0 });
  const status = decided(await nodes.txStatus(data.txId));
  if (status.state === 'absent' || status.value.state === 'pending')
    return gone('no node has its transaction in a block');
  const header = decided(await nodes.transaction(data.txId));
  if (header.state === 'absent' || memberOf(header.value.header, 'id') !== data.txId)
    return gone('no node has the header of its transaction');
  const place = await placeOf(nodes, data);
  if (place === undefined) return gone('no node says where its data lies');
  const all = chunksOf(data.size);
  const some = bundle.damage === null ? someOf(all, samples + 1) : all;
  let missing = await missingOf(nodes, data, place, some, signal);
  let asked = some.length;
  if (missing.length > 0 && some.length < all.length) {
    missing = await missingOf(nodes, data, place, all, signal);
    asked += all.length;
  }
  const finding: Finding =
    missing.length === 0 ? { kind: 'whole' } : { kind: 'damaged', place, missing, chunks: all.length };
  return { finding, asked };
}

async function missingOf(
  nodes: ArweaveNodes,
  data: BundleData,
  place: bigint,
  chunks: readonly ChunkRange[],
  signal: AbortSignal,
): Promise<ChunkRange[]> {
  const missing: ChunkRange[] = [];
  for (let from = 0; from < chunks.length; from += asksAtOnce) {
    signal.throwIfAborted();
    await Promise.all(
      chunks.slice(from, from + asksAtOnce).map(async (range) => {
        let isWrong = false;
        const answer = await provenChunk(nodes, data, place, range, () => {
          isWrong = true;
        });
        // Something else in its place, and nobody with the right bytes: as good as nothing.
        if (answer.state === 'not-known' && !isWrong) decided(answer);
        if (answer.state !== 'found') missing.push(range);
      }),
    );
  }
  return missing;
}
