/**
 * Whether a bundle arrived: mined, deep enough, and readable. Confirmations of the header say nothing about the
 * data, so chunks are fetched back and checked against the data root before a bundle counts as permanent.
 */
import type { ArweaveNodes, TxStatus } from '../../outside/arweave/nodes.ts';
import type { BundleRow } from './bundle-rows.ts';
import { type BundleData, chunksOf, dataOf, decided, placeOf, provenChunk, someOf } from './chain-chunks.ts';

/** Blocks after which an anchor is dead, and a few more because the newest ones may be replaced. */
export const anchorLife = 50 + 5;
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
  const data = dataOf(bundle);
  const status = decided(await nodes.txStatus(data.txId));
  // Dropped is paid for again, so every node must have missed it at a height at which it can no longer be mined.
  if (status.state === 'absent') return { kind: isAnchorDead(bundle, status.at) ? 'dropped' : 'forgotten' };
  if (status.value.state === 'pending') return { kind: 'waiting', mined: undefined };
  const { blockHeight, confirmations: depth } = status.value;
  if (depth < confirmations) return { kind: 'waiting', mined: { blockHeight, confirmations: depth } };
  return (await canBeRead(nodes, data))
    ? { kind: 'permanent', blockHeight, confirmations: depth }
    : { kind: 'unreadable' };
}

/** False when every node says that it lacks some of it; throws while that is not known. */
async function canBeRead(nodes: ArweaveNodes, data: BundleData): Promise<boolean> {
  const place = await placeOf(nodes, data);
  if (place === undefined) return false;
  for (const range of someOf(chunksOf(data.size), samples)) {
    if (decided(await provenChunk(nodes, data, place, range)).state === 'absent') return false;
  }
  return true;
}
