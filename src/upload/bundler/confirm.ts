/**
 * Whether a bundle arrived: mined, deep enough, and readable. Confirmations of the header say nothing about the
 * data, so chunks are fetched back and checked against the data root before a bundle counts as permanent.
 */
import { randomInt } from 'node:crypto';
import { chunkEnds } from '../../formats/arweave/chunks.ts';
import { sha256 } from '../../formats/arweave/merkle.ts';
import { verifyPath } from '../../formats/arweave/proof.ts';
import { decodeBase64url } from '../../formats/base64url.ts';
import type { ArweaveNodes } from '../chain/node-client.ts';
import type { BundleRow } from './bundle-rows.ts';

/** Blocks after which an anchor is dead, and a few more because nodes disagree about the newest. */
const anchorLife = 50 + 5;
/** Chunks that are fetched back; all of them when there are no more. */
const samples = 16;

export type Verdict =
  | { readonly kind: 'permanent'; readonly blockHeight: number }
  /** Mined or waiting to be: ask again later. */
  | { readonly kind: 'waiting' }
  /** No node knows it, and it can still be mined: post it again. */
  | { readonly kind: 'forgotten' }
  /** Mined, but not all chunks can be read: seed again. */
  | { readonly kind: 'unreadable' }
  /** It can no longer be mined. */
  | { readonly kind: 'dropped' };

export async function judgeBundle(
  nodes: ArweaveNodes,
  bundle: BundleRow,
  confirmations: number,
): Promise<Verdict> {
  if (bundle.tx_id === null || bundle.tx === null)
    throw new Error(`bundle ${bundle.plan} has no transaction`);
  const status = await nodes.txStatus(bundle.tx_id);
  if (status.state === 'pending') return { kind: 'waiting' };
  if (status.state === 'unknown') {
    const height = await nodes.height();
    return { kind: height > (bundle.anchor_height ?? 0) + anchorLife ? 'dropped' : 'forgotten' };
  }
  if (status.confirmations < confirmations) return { kind: 'waiting' };
  const readable = await canBeRead(nodes, bundle.tx_id, bundle.size, dataRootOf(bundle.tx));
  return readable ? { kind: 'permanent', blockHeight: status.blockHeight } : { kind: 'unreadable' };
}

async function canBeRead(nodes: ArweaveNodes, id: string, size: number, root: Buffer): Promise<boolean> {
  const place = await nodes.txOffset(id);
  if (place === undefined || place.size !== size) return false;
  const first = place.end - BigInt(size);
  for (const { start, end } of sampleChunks(size)) {
    // Offsets in the weave count from one.
    const found = await nodes.chunk(first + BigInt(start) + 1n);
    if (found === undefined || found.chunk.length !== end - start) return false;
    const leaf = verifyPath(root, start, size, found.dataPath);
    if (leaf === undefined || !leaf.data.equals(sha256(found.chunk))) return false;
  }
  return true;
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
  const parsed: unknown = JSON.parse(tx);
  const root = typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, 'data_root') : undefined;
  return decodeBase64url(String(root));
}
