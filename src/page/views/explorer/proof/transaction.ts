/** Checks a chain transaction as nodes tell it: its id, its owner's signature, and its data against its data root. */
import { sha256 } from '@noble/hashes/sha2.js';
import { chunkEnds, endsWithZeroLeaf, type Split } from '../../../../formats/arweave/chunks.ts';
import { isRecord, memberOf } from '../../../../formats/json.ts';
import { concatBytes, decodeBase64, encodeBase64url, utf8 } from '../../../services/encoding.ts';
import { type DeepHashInput, deepHash } from '../../../wallet/deep-hash.ts';
import { verifyPss } from './signatures.ts';

export type TransactionVerdict =
  | 'good'
  | 'other transaction'
  | 'bad signature'
  | 'not readable'
  | 'unknown type';

/** Of the header, and of the data of version 1, which is a part of it. */
export async function checkTransaction(
  id: string,
  json: Readonly<Record<string, unknown>>,
): Promise<TransactionVerdict> {
  const bytes = (name: string) => decodeBase64(String(json[name] ?? '')) ?? new Uint8Array(0);
  const text = (name: string) => String(json[name] ?? '');
  const signature = bytes('signature');
  const owner = bytes('owner');
  if (signature.length === 0) return 'not readable';
  if (encodeBase64url(sha256(signature)) !== id) return 'other transaction';
  // ECDSA keys are not told, but recovered from the signature.
  if (owner.length === 0) return 'unknown type';
  const tags = tagsOf(json.tags);
  if (tags === undefined) return 'not readable';
  if (Number(json.format) === 1) {
    const flat = tags.flat();
    const parts = [
      owner,
      bytes('target'),
      bytes('data'),
      utf8(text('quantity')),
      utf8(text('reward')),
      bytes('last_tx'),
    ];
    return verdict(verifyPss(owner, concatBytes(...parts, ...flat), signature));
  }
  const denomination = Number(json.denomination ?? 0);
  const fields: DeepHashInput[] = [
    String(Number(json.format)),
    owner,
    bytes('target'),
    text('quantity'),
    text('reward'),
    bytes('last_tx'),
    tags,
    text('data_size'),
    bytes('data_root'),
  ];
  if (denomination > 0) fields.splice(1, 0, String(denomination));
  return verdict(verifyPss(owner, await deepHash(fields), signature));
}

const verdict = (isGood: boolean): TransactionVerdict => (isGood ? 'good' : 'bad signature');

type Pair = readonly [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];

function tagsOf(tags: unknown): readonly Pair[] | undefined {
  if (!Array.isArray(tags)) return undefined;
  const pairs = tags.flatMap((tag): Pair[] => {
    if (!isRecord(tag)) return [];
    const name = decodeBase64(String(memberOf(tag, 'name')));
    const value = decodeBase64(String(memberOf(tag, 'value')));
    return name === undefined || value === undefined ? [] : [[name, value]];
  });
  return pairs.length === tags.length ? pairs : undefined;
}

/** How clients and nodes cut data; a root is good by any of them. */
const splits: readonly Split[] = [
  { style: 'balanced', zeroLeaf: true },
  { style: 'balanced', zeroLeaf: false },
  { style: 'fixed', zeroLeaf: true },
  { style: 'fixed', zeroLeaf: false },
];

/** Whether the bytes have this data root. */
export function hasDataRoot(data: Uint8Array, root: string): boolean {
  return splits.some((split) => encodeBase64url(dataRoot(data, split)) === root);
}

interface TreeNode {
  readonly id: Uint8Array;
  readonly end: number;
}

function dataRoot(data: Uint8Array, split: Split): Uint8Array {
  let start = 0;
  let nodes: TreeNode[] = [...chunkEnds(data.length, split)].map((end) => {
    const id = hashOf(sha256(data.subarray(start, end)), note(end));
    start = end;
    return { id, end };
  });
  if (endsWithZeroLeaf(data.length, split)) {
    nodes.push({ id: hashOf(sha256(new Uint8Array(0)), note(data.length)), end: data.length });
  }
  while (nodes.length > 1) {
    nodes = Array.from({ length: Math.ceil(nodes.length / 2) }, (_, at) => {
      const [left, right] = [nodes[2 * at], nodes[2 * at + 1]];
      if (left === undefined) throw new Error('a level has no gaps');
      return right === undefined ? left : { id: hashOf(left.id, right.id, note(left.end)), end: right.end };
    });
  }
  return nodes[0]?.id ?? new Uint8Array(0);
}

/** The hash of the parts' hashes. */
const hashOf = (...parts: readonly Uint8Array[]): Uint8Array =>
  sha256(concatBytes(...parts.map((part) => sha256(part))));

function note(value: number): Uint8Array {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setBigUint64(24, BigInt(value));
  return bytes;
}
