/** Whether something is really there: proven on the chain, chunk by chunk and node by node, and readable at gateways. */
import { createHash } from 'node:crypto';
import { DeepHashBlob } from '../../formats/deep-hash.ts';
import { messageOf } from '../../kernel/errors.ts';
import { HttpClient } from '../../outside/http.ts';
import { verifyStreamed } from '../../wallets/data-items/verify.ts';
import {
  type BlockState,
  blockOf,
  type ChunkCopies,
  copiesOf,
  type DataPlace,
  findTransaction,
  type NodeView,
  placeOf,
  readProven,
} from './chain-copy.ts';
import { type FoundItem, findItem, ItemLost } from './find-item.ts';

export interface CheckReport {
  readonly id: string;
  readonly kind: 'transaction' | 'data item' | 'unknown';
  /** Nodes that tell the transaction's header, which was proven by its signature. */
  readonly headerAt: readonly string[];
  readonly block: BlockState;
  readonly bundles: readonly string[];
  /** Bytes, for an item with its header. */
  readonly size: number;
  /** Of an item, in the transaction's data. */
  readonly offset: number;
  readonly chunks: readonly ChunkCopies[];
  /** Chunks that no node has. */
  readonly missing: readonly ChunkCopies[];
  /** What its bytes were proven by; undefined where they were not. */
  readonly verifiedBy: 'data root' | 'signature' | undefined;
  readonly gateways: readonly GatewayCopy[];
  /** Why something could not be found out. */
  readonly problem?: string;
}

export interface GatewayCopy {
  readonly gateway: string;
  /** `right`: the very bytes that the chain has; `readable`: bytes that nothing could be compared with. */
  readonly state: 'right' | 'readable' | 'wrong' | 'absent' | 'away';
  readonly note: string;
}

export interface CheckOptions {
  readonly nodes: readonly NodeView[];
  readonly gateways: readonly string[];
  /** Told how many bytes are looked at, and of each piece. */
  readonly started?: (total: number) => (bytes: number) => void;
}

const pieceBytes = 4 * 1024 * 1024;
const nothing = { state: 'unknown', confirmations: 0 } as const;

export async function checkId(id: string, options: CheckOptions): Promise<CheckReport> {
  const { nodes, gateways } = options;
  const transaction = await findTransaction(nodes, id);
  if (transaction === undefined) return await checkItem(id, options);
  const { dataSize: size } = transaction.transaction;
  const block = await blockOf(nodes, id);
  const place = size === 0 ? undefined : await placeOf(nodes, transaction);
  const range = { from: 0, to: size };
  const chunks = place === undefined ? [] : await look(place, range, options);
  const missing = chunks.filter((chunk) => chunk.nodes.length === 0);
  const isWhole = size === 0 || (place !== undefined && missing.length === 0);
  const digest = isWhole && place !== undefined ? await digestOf(nodes, place, range) : undefined;
  return {
    id,
    kind: 'transaction',
    headerAt: transaction.nodes,
    block,
    bundles: [],
    size,
    offset: 0,
    chunks,
    missing,
    verifiedBy: isWhole && size > 0 ? 'data root' : undefined,
    gateways: await Promise.all(gateways.map((gateway) => gatewayCopy(gateway, id, digest?.sha256))),
    ...(size > 0 &&
      place === undefined && { problem: 'no node says where its data lies: it may not be mined' }),
  };
}

async function checkItem(id: string, options: CheckOptions): Promise<CheckReport> {
  const { nodes, gateways } = options;
  let found: FoundItem;
  try {
    found = await findItem(nodes, gateways, id);
  } catch (error) {
    if (!(error instanceof ItemLost)) throw error;
    const copies = await Promise.all(gateways.map((gateway) => gatewayCopy(gateway, id, undefined)));
    const isAnywhere = copies.some(({ state }) => state === 'readable');
    return {
      id,
      kind: isAnywhere ? 'data item' : 'unknown',
      headerAt: [],
      block: nothing,
      bundles: [],
      size: 0,
      offset: 0,
      chunks: [],
      missing: [],
      verifiedBy: undefined,
      gateways: copies,
      problem: error.message,
    };
  }
  const { root, place, offset, size, header, bundles } = found;
  const chunks = await look(place, { from: offset, to: offset + size }, options);
  const missing = chunks.filter((chunk) => chunk.nodes.length === 0);
  const payload = { from: offset + header.length, to: offset + size };
  const digest = missing.length === 0 ? await digestOf(nodes, place, payload) : undefined;
  const isSigned =
    digest !== undefined && verifyStreamed({ header, dataHash: digest.deepHash }, { lenient: true });
  return {
    id,
    kind: 'data item',
    headerAt: root.nodes,
    block: await blockOf(nodes, root.id),
    bundles,
    size,
    offset,
    chunks,
    missing,
    verifiedBy: isSigned ? 'signature' : undefined,
    gateways: await Promise.all(gateways.map((gateway) => gatewayCopy(gateway, id, digest?.sha256))),
    ...(digest !== undefined && !isSigned && { problem: 'its signature does not fit its bytes' }),
  };
}

function look(
  place: DataPlace,
  range: { readonly from: number; readonly to: number },
  { nodes, started = () => () => {} }: CheckOptions,
): Promise<ChunkCopies[]> {
  return copiesOf(nodes, place, range, started(range.to - range.from));
}

interface Digests {
  readonly sha256: string;
  readonly deepHash: Buffer;
}

async function digestOf(
  nodes: readonly NodeView[],
  place: DataPlace,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Digests | undefined> {
  const [sha256, deep] = [createHash('sha256'), new DeepHashBlob()];
  for (let at = from; at < to; at += pieceBytes) {
    const bytes = await readProven(nodes, place, at, Math.min(at + pieceBytes, to));
    if (bytes === undefined) return undefined;
    sha256.update(bytes);
    deep.update(bytes);
  }
  return { sha256: sha256.digest('hex'), deepHash: deep.digest() };
}

const http = new HttpClient({ timeoutMs: 20_000, maxBytes: 1024 * 1024 });

async function gatewayCopy(gateway: string, id: string, expected: string | undefined): Promise<GatewayCopy> {
  try {
    const answer = await http.open(`${gateway}/raw/${id}`, { timeoutMs: 20_000, idleTimeoutMs: 20_000 });
    if (answer.status !== 200) {
      answer.discard();
      const state = answer.status === 404 || answer.status === 410 ? 'absent' : 'away';
      return { gateway, state, note: `status ${answer.status}` };
    }
    const sha256 = createHash('sha256');
    for await (const bytes of answer.body) sha256.update(bytes);
    const digest = sha256.digest('hex');
    if (expected === undefined)
      return { gateway, state: 'readable', note: 'there is nothing to compare it with' };
    if (digest === expected) return { gateway, state: 'right', note: 'the bytes that the chain has' };
    return { gateway, state: 'wrong', note: 'other bytes than the chain has' };
  } catch (error) {
    return { gateway, state: 'away', note: messageOf(error) };
  }
}
