/**
 * The proof that an item lies in a bundle, for somebody who has nothing but the item and the proof: the bundle's signed
 * transaction, the chunks of its data that hold the bundle's list and the item, each with its path to the data root, and the
 * path of the transaction to the root of its block. Of the chunks only the bytes that are not the item's own are in it.
 */
import { type Static, Type } from 'typebox';
import { sha256 } from '../arweave/merkle.ts';
import { claimedEnd, verifyPath } from '../arweave/proof.ts';
import { decodeBase64url } from '../base64url.ts';
import { parseBundleHeader } from './bundle-header.ts';

const bytes = Type.String({ description: 'base64url' });

const proofChunk = Type.Object({
  start: Type.Integer({ minimum: 0 }),
  end: Type.Integer({ minimum: 1 }),
  dataPath: bytes,
  /** What of the chunk lies before the item, and behind it. */
  before: bytes,
  after: bytes,
});
export type ProofChunk = Readonly<Static<typeof proofChunk>>;

const proofBlock = Type.Object({
  height: Type.Integer({ minimum: 0 }),
  id: Type.String(),
  txRoot: bytes,
  /** How much the weave grew by the block. */
  size: Type.Integer({ minimum: 0 }),
  txPath: bytes,
});

const proofBundle = Type.Object({
  id: Type.String(),
  /** As nodes tell it, without data. */
  transaction: Type.Record(Type.String(), Type.Unknown()),
  size: Type.Integer({ minimum: 1 }),
  /** Where the item begins. */
  offset: Type.Integer({ minimum: 0 }),
  chunks: Type.Array(proofChunk, { maxItems: 8_192 }),
  block: Type.Optional(proofBlock),
});
export type ProofBundle = Readonly<Static<typeof proofBundle>>;

export const itemProof = Type.Object({
  version: Type.Literal(1),
  id: Type.String(),
  receipt: Type.Record(Type.String(), Type.Unknown()),
  item: Type.Object({ header: bytes, size: Type.Integer({ minimum: 1 }) }),
  bundle: Type.Optional(proofBundle),
});
export type ItemProof = Readonly<Static<typeof itemProof>>;

/** The item's bytes from `from` to `to`, counted from its first. */
export type ItemBytes = (from: number, to: number) => Promise<Buffer>;

/** What is wrong with the proof that the item lies there; undefined: it does. */
export async function inclusionProblem(
  { id, item }: Pick<ItemProof, 'id' | 'item'>,
  bundle: ProofBundle,
  dataRoot: Buffer,
  itemBytes: ItemBytes,
): Promise<string | undefined> {
  const { offset, size, chunks } = bundle;
  const list: Buffer[] = [];
  let listed = 0;
  let covered = offset;
  for (const chunk of chunks) {
    const [before, after] = [decodeBase64url(chunk.before), decodeBase64url(chunk.after)];
    const from = Math.max(chunk.start, offset);
    const to = Math.min(chunk.end, offset + item.size);
    const own = from < to ? await itemBytes(from - offset, to - offset) : Buffer.alloc(0);
    const whole = Buffer.concat([before, own, after]);
    if (whole.length !== chunk.end - chunk.start) return 'a chunk of the bundle is not as long as it says';
    const path = decodeBase64url(chunk.dataPath);
    const leaf = verifyPath(dataRoot, chunk.start, size, path);
    if (
      leaf === undefined ||
      leaf.start !== chunk.start ||
      leaf.end !== chunk.end ||
      !leaf.data.equals(sha256(whole))
    ) {
      return 'a chunk of the bundle is not what its transaction has there';
    }
    if (chunk.start === listed) {
      list.push(whole);
      listed = chunk.end;
    }
    if (from < to && from <= covered) covered = Math.max(covered, to);
  }
  if (covered !== offset + item.size) return 'not all of the item is proven';
  const header = parseBundleHeader(Buffer.concat(list), size, { lenient: true });
  if (typeof header === 'string') return `the bundle's list of items cannot be read: ${header}`;
  for (let index = 0; index < header.wholeCount; index += 1) {
    if (header.id(index) !== id) continue;
    if (header.offsets[index] === offset && header.sizes[index] === item.size) return undefined;
  }
  return 'the bundle does not list the item at that place';
}

/** What is wrong with the proof that the block has the transaction; undefined: it has. */
export function blockProblem({ block }: ProofBundle, dataRoot: Buffer): string | undefined {
  if (block === undefined) return 'there is no block in the proof';
  const path = decodeBase64url(block.txPath);
  const end = claimedEnd(path);
  const leaf =
    end === undefined
      ? undefined
      : verifyPath(decodeBase64url(block.txRoot), end - 1, block.size, path, 'basic');
  return leaf?.data.equals(dataRoot) === true ? undefined : 'the block does not have the transaction';
}
