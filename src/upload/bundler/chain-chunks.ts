/** The chunks of a bundle as the chain has them, each proven against the bundle's data root. */
import { randomInt } from 'node:crypto';
import { chunkEnds } from '../../formats/arweave/chunks.ts';
import { sha256 } from '../../formats/arweave/merkle.ts';
import { verifyPath } from '../../formats/arweave/proof.ts';
import { decodeBase64url } from '../../formats/base64url.ts';
import { requireText, tryParseJson } from '../../formats/json.ts';
import { type ArweaveNodes, type NodeChunk, NodeUnavailable } from '../../outside/arweave/nodes.ts';
import type { LookUp } from '../../outside/look-up.ts';
import type { BundleRow } from './bundle-rows.ts';

/** A bundle whose transaction was made. */
export interface BundleData {
  readonly txId: string;
  readonly size: number;
  readonly root: Buffer;
}

/** Bytes of the bundle: the first, and one past the last. */
export interface ChunkRange {
  readonly start: number;
  readonly end: number;
}

export function dataOf({ plan, tx_id, tx, size }: BundleRow): BundleData {
  if (tx_id === null || tx === null) throw new Error(`bundle ${plan} has no transaction`);
  return { txId: tx_id, size, root: decodeBase64url(requireText(tryParseJson(tx), 'data_root')) };
}

export function chunksOf(size: number): ChunkRange[] {
  const chunks: ChunkRange[] = [];
  let start = 0;
  for (const end of chunkEnds(size)) {
    chunks.push({ start, end });
    start = end;
  }
  return chunks;
}

/** The first, the last and others by chance; all of them where there are no more than `count`. */
export function someOf(chunks: readonly ChunkRange[], count: number): ChunkRange[] {
  const chosen = [...chunks];
  while (chosen.length > Math.max(2, count)) chosen.splice(1 + randomInt(chosen.length - 2), 1);
  return chosen;
}

/** What is certain; throws while it is not. */
export function decided<T>(answer: LookUp<T>): Exclude<LookUp<T>, { state: 'not-known' }> {
  if (answer.state === 'not-known') {
    throw new NodeUnavailable('not all Arweave nodes could be asked', { cause: answer.cause });
  }
  return answer;
}

/** Where the chain has put the data: the place before its first byte. Undefined where no node says it. */
export async function placeOf(nodes: ArweaveNodes, { txId, size }: BundleData): Promise<bigint | undefined> {
  const place = decided(await nodes.txOffset(txId));
  return place.state === 'absent' || place.value.size !== size ? undefined : place.value.end - BigInt(size);
}

/** A proven chunk of a bundle that lies there. `sawWrong` is called for a node that has something else there. */
export function provenChunk(
  nodes: ArweaveNodes,
  { root, size }: BundleData,
  place: bigint,
  { start, end }: ChunkRange,
  sawWrong: () => void = () => {},
): Promise<LookUp<NodeChunk>> {
  const isRight = ({ chunk, dataPath }: NodeChunk): boolean => {
    const leaf = verifyPath(root, start, size, dataPath);
    const fits = chunk.length === end - start && leaf?.data.equals(sha256(chunk)) === true;
    if (!fits) sawWrong();
    return fits;
  };
  // Offsets in the weave count from one.
  return nodes.chunk(place + BigInt(start) + 1n, isRight);
}
