/**
 * A chunk as a node gives it, checked as far as it can be without knowing its transaction: its bytes hash to the leaf
 * of its path, and the path leads to one root.
 */
import { hash } from 'node:crypto';
import { BRANCH_BYTES, HASH_BYTES, hashBranch, hashLeaf, LEAF_BYTES } from '../../formats/arweave/merkle.ts';
import { claimedEnd } from '../../formats/arweave/proof.ts';
import { tryDecodeBase64url } from '../../formats/base64url.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';

export interface RawChunk {
  readonly bytes: Buffer;
  readonly dataPath: Buffer;
  readonly txPath: Buffer;
  /** What the path leads up to. */
  readonly dataRoot: Buffer;
  /** First byte of the chunk in its transaction's data, as the path claims. */
  readonly relativeStart: number;
}

/** undefined when the answer is no chunk or contradicts itself. */
export function parseRawChunk(body: Buffer): RawChunk | undefined {
  const json = tryParseJson(body.toString('latin1'));
  const bytes = binary(memberOf(json, 'chunk'));
  const dataPath = binary(memberOf(json, 'data_path'));
  const txPath = binary(memberOf(json, 'tx_path')) ?? Buffer.alloc(0);
  if (bytes === undefined || dataPath === undefined || dataPath.length < LEAF_BYTES) return undefined;
  const leaf = dataPath.subarray(dataPath.length - LEAF_BYTES);
  if (!leaf.subarray(0, HASH_BYTES).equals(hash('sha256', bytes, 'buffer'))) return undefined;
  const end = claimedEnd(dataPath);
  if (end === undefined || !Number.isSafeInteger(end) || end < bytes.length) return undefined;
  return { bytes, dataPath, txPath, dataRoot: rootOf(dataPath), relativeStart: end - bytes.length };
}

function rootOf(path: Buffer): Buffer {
  if (path.length === LEAF_BYTES) return hashLeaf(path.subarray(0, HASH_BYTES), path.subarray(HASH_BYTES));
  // A path that begins with zeros has a rebased branch first.
  const start = path.subarray(0, HASH_BYTES).every((byte) => byte === 0) ? HASH_BYTES : 0;
  const branch = path.subarray(start, start + BRANCH_BYTES);
  return hashBranch(
    branch.subarray(0, HASH_BYTES),
    branch.subarray(HASH_BYTES, 2 * HASH_BYTES),
    branch.subarray(2 * HASH_BYTES),
  );
}

function binary(value: unknown): Buffer | undefined {
  return typeof value === 'string' ? tryDecodeBase64url(value) : undefined;
}
