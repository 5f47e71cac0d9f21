/**
 * Whether a bundle arrived: mined, deep enough, and readable. Confirmations of the header say nothing about the
 * data, so chunks are fetched back and checked against the data root before a bundle counts as permanent.
 */
import { randomInt } from 'node:crypto';
import { chunkEnds } from '../../formats/arweave/chunks.ts';
import { sha256 } from '../../formats/arweave/merkle.ts';
import { verifyPath } from '../../formats/arweave/proof.ts';
import { decodeBase64url } from '../../formats/base64url.ts';
import { requireText, tryParseJson } from '../../formats/json.ts';
import {
  type ArweaveNodes,
  type NodeChunk,
  NodeUnavailable,
  type TxStatus,
} from '../../outside/arweave/nodes.ts';
import type { LookUp } from '../../outside/look-up.ts';
import type { BundleRow } from './bundle-rows.ts';

/** Blocks after which an anchor is dead, and a few more because the newest ones may be replaced. */
const anchorLife = 50 + 5;
/** Chunks that are fetched back; all of them when there are no more. */
const samples = 16;

/** The block that has it, and how deep that is. */
export type Mined = Pick<Extract<TxStatus, { readonly state: 'mined' }>, 'blockHeight' | 'confirmations'>;

export type Verdict =
  | { readonly kind: 'permanent'; readonly blockHeight: number; readonly confirmations: number }
  /** Mined or waiting to be: ask again later. */
  | { readonly kind: 'waiting'; readonly mined: Mined | undefined }
  /** No node knows it, and it can still be mined: post it again. */
  | { readonly kind: 'forgotten' }
  /** Mined, but not all chunks can be read: seed again. */
  | { readonly kind: 'unreadable' }
  /** It can no longer be mined. */
  | { readonly kind: 'dropped' };

/** Whether no block at this height or above can hold the bundle's transaction any more. */
export function isAnchorDead({ anchor_height }: BundleRow, height: number): boolean {
  return height > (anchor_height ?? 0) + anchorLife;
}

export async function judgeBundle(
  nodes: ArweaveNodes,
  bundle: BundleRow,
  confirmations: number,
): Promise<Verdict> {
  if (bundle.tx_id === null || bundle.tx === null)
    throw new Error(`bundle ${bundle.plan} has no transaction`);
  const status = decided(await nodes.txStatus(bundle.tx_id));
  // Dropped is paid for again, so every node must have missed it at a height at which it can no longer be mined.
  if (status.state === 'absent') return { kind: isAnchorDead(bundle, status.at) ? 'dropped' : 'forgotten' };
  if (status.value.state === 'pending') return { kind: 'waiting', mined: undefined };
  const { blockHeight, confirmations: depth } = status.value;
  if (depth < confirmations) return { kind: 'waiting', mined: { blockHeight, confirmations: depth } };
  const readable = await canBeRead(nodes, bundle.tx_id, bundle.size, dataRootOf(bundle.tx));
  return readable ? { kind: 'permanent', blockHeight, confirmations: depth } : { kind: 'unreadable' };
}

/** False when every node says that it lacks some of it; throws while that is not known. */
async function canBeRead(nodes: ArweaveNodes, id: string, size: number, root: Buffer): Promise<boolean> {
  const place = decided(await nodes.txOffset(id));
  if (place.state === 'absent' || place.value.size !== size) return false;
  const first = place.value.end - BigInt(size);
  for (const { start, end } of sampleChunks(size)) {
    const isRight = ({ chunk, dataPath }: NodeChunk): boolean => {
      const leaf = verifyPath(root, start, size, dataPath);
      return chunk.length === end - start && leaf?.data.equals(sha256(chunk)) === true;
    };
    // Offsets in the weave count from one.
    const chunk = decided(await nodes.chunk(first + BigInt(start) + 1n, isRight));
    if (chunk.state === 'absent') return false;
  }
  return true;
}

function decided<T>(answer: LookUp<T>): Exclude<LookUp<T>, { state: 'not-known' }> {
  if (answer.state === 'not-known') {
    throw new NodeUnavailable('not all Arweave nodes could be asked', { cause: answer.cause });
  }
  return answer;
}

function sampleChunks(size: number): { readonly start: number; readonly end: number }[] {
  const chunks: { start: number; end: number }[] = [];
  let start = 0;
  for (const end of chunkEnds(size)) {
    chunks.push({ start, end });
    start = end;
  }
  while (chunks.length > samples) chunks.splice(1 + randomInt(chunks.length - 2), 1);
  return chunks;
}

function dataRootOf(tx: string): Buffer {
  return decodeBase64url(requireText(tryParseJson(tx), 'data_root'));
}
