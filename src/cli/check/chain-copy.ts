/**
 * A transaction as each node has it: header, block, and every chunk of its data, proven against the data root. What one
 * node lacks another may have, so each is asked by itself.
 */
import { nextChunkBytes } from '../../formats/arweave/chunks.ts';
import { sha256 } from '../../formats/arweave/merkle.ts';
import { type ProvenLeaf, verifyPath } from '../../formats/arweave/proof.ts';
import type { Transaction } from '../../formats/arweave/transaction.ts';
import { parseTransactionJson } from '../../formats/arweave/transaction-json.ts';
import { verifyTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { isTxId, toTxId } from '../../formats/base64url.ts';
import { ArweaveNodes, type NodeChunk, type TxStatus } from '../../outside/arweave/nodes.ts';
import type { LookUp } from '../../outside/look-up.ts';
import { severalAtOnce } from '../several-at-once.ts';

/** One node, which is asked alone. */
export interface NodeView {
  readonly url: string;
  readonly node: ArweaveNodes;
}

export function viewNodes(urls: readonly string[]): NodeView[] {
  return urls.map((url) => ({ url, node: new ArweaveNodes([url]) }));
}

export const closeNodes = (views: readonly NodeView[]): Promise<unknown> =>
  Promise.all(views.map(({ node }) => node.close()));

/** A transaction whose header was proven: its id is that of its signature, which covers everything in it. */
export interface ProvenTransaction {
  readonly id: string;
  readonly transaction: Transaction;
  /** Nodes that tell this header. */
  readonly nodes: readonly string[];
}

/** Undefined where no node knows it; throws where that cannot be said. */
export async function findTransaction(
  views: readonly NodeView[],
  id: string,
): Promise<ProvenTransaction | undefined> {
  let found: ProvenTransaction | undefined;
  let doubt: unknown;
  for (const { url, node } of views) {
    const answer = await node.transaction(id);
    if (answer.state === 'not-known') doubt = answer.cause;
    if (answer.state !== 'found') continue;
    const transaction = await proven(answer.value.header, id);
    if (transaction !== undefined) {
      found = { id, transaction, nodes: [...(found?.nodes ?? []), url] };
    }
  }
  if (found === undefined && doubt !== undefined) {
    throw new Error('a node that may know it did not answer', { cause: doubt });
  }
  return found;
}

async function proven(header: unknown, id: string): Promise<Transaction | undefined> {
  try {
    const transaction = parseTransactionJson(header);
    return isTxId(id) && toTxId(transaction.id) === id && (await verifyTransactionAsync(transaction))
      ? transaction
      : undefined;
  } catch {
    return undefined;
  }
}

export interface BlockState {
  readonly state: 'unknown' | 'pending' | 'mined';
  readonly height?: number;
  readonly confirmations: number;
}

/** As the node says that has seen most of it. */
export async function blockOf(views: readonly NodeView[], id: string): Promise<BlockState> {
  const answers = await Promise.all(views.map(({ node }) => node.txStatus(id)));
  const known = answers.flatMap((answer: LookUp<TxStatus>) =>
    answer.state === 'found' ? [answer.value] : [],
  );
  const mined = known.flatMap((status) => (status.state === 'mined' ? [status] : []));
  const [deepest] = mined.toSorted((one, other) => other.confirmations - one.confirmations);
  if (deepest !== undefined) {
    return { state: 'mined', height: deepest.blockHeight, confirmations: deepest.confirmations };
  }
  return { state: known.length > 0 ? 'pending' : 'unknown', confirmations: 0 };
}

export interface ChunkCopies {
  /** First byte, relative to the transaction's data. */
  readonly start: number;
  /** One past the last. */
  readonly end: number;
  /** Nodes that gave it with a right proof. */
  readonly nodes: readonly string[];
}

export interface DataPlace {
  readonly root: Buffer;
  readonly size: number;
  /** Weave offset of the first byte, counted from one. */
  readonly first: bigint;
}

/** Where the chain has put the data; undefined where no node says it. */
export async function placeOf(
  views: readonly NodeView[],
  { id, transaction }: ProvenTransaction,
): Promise<DataPlace | undefined> {
  for (const { node } of views) {
    const answer = await node.txOffset(id);
    if (answer.state !== 'found' || answer.value.size !== transaction.dataSize) continue;
    const { end, size } = answer.value;
    return { root: transaction.dataRoot, size, first: end - BigInt(size) + 1n };
  }
  return undefined;
}

const asksAtOnce = 8;

/** Every chunk of the bytes from `from` to `to`, with who has it. `looked` is told of bytes as they are looked at. */
export async function copiesOf(
  views: readonly NodeView[],
  place: DataPlace,
  { from, to }: { readonly from: number; readonly to: number },
  looked: (bytes: number) => void = () => {},
): Promise<ChunkCopies[]> {
  const found: ChunkCopies[] = [];
  const starts = [...assumedStarts(place.size)].filter(({ start, end }) => end > from && start < to);
  await severalAtOnce(starts, asksAtOnce, async (assumed) => {
    const asked = await Promise.all(views.map((view) => provenChunk(view, place, assumed.start)));
    const chunk = asked.find((one) => one !== undefined);
    const nodes = asked.flatMap((one, index) => (one === undefined ? [] : [views[index]?.url ?? '']));
    found.push({ start: chunk?.start ?? assumed.start, end: chunk?.end ?? assumed.end, nodes });
    looked(assumed.end - assumed.start);
  });
  return found.sort((one, other) => one.start - other.start);
}

/** As clients cut data; who cut it otherwise is told what lies at these places. */
function* assumedStarts(size: number): Generator<{ readonly start: number; readonly end: number }> {
  for (let start = 0; start < size; ) {
    const end = start + nextChunkBytes(size - start, 'balanced');
    yield { start, end };
    start = end;
  }
}

interface ProvenChunk {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
}

async function provenChunk(
  { node }: NodeView,
  { root, size, first }: DataPlace,
  offset: number,
): Promise<ProvenChunk | undefined> {
  let leaf: ProvenLeaf | undefined;
  const isRight = ({ chunk, dataPath }: NodeChunk): boolean => {
    leaf = verifyPath(root, offset, size, dataPath) ?? verifyPath(root, offset, size, dataPath, 'basic');
    if (leaf === undefined) return false;
    return chunk.length === leaf.end - leaf.start && leaf.data.equals(sha256(chunk));
  };
  const answer = await node.chunk(first + BigInt(offset), isRight);
  if (answer.state !== 'found' || leaf === undefined) return undefined;
  return { start: leaf.start, end: leaf.end, bytes: answer.value.chunk };
}

/** Proven bytes of the transaction's data, from whichever node has them; undefined where none has some of them. */
export async function readProven(
  views: readonly NodeView[],
  place: DataPlace,
  from: number,
  to: number,
): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  for (let at = from; at < to; ) {
    const chunk = await firstChunk(views, place, at);
    if (chunk === undefined) return undefined;
    pieces.push(chunk.bytes.subarray(at - chunk.start, Math.min(chunk.end, to) - chunk.start));
    at = chunk.end;
  }
  return Buffer.concat(pieces);
}

async function firstChunk(
  views: readonly NodeView[],
  place: DataPlace,
  offset: number,
): Promise<ProvenChunk | undefined> {
  for (const view of views) {
    const chunk = await provenChunk(view, place, offset);
    if (chunk !== undefined) return chunk;
  }
  return undefined;
}
