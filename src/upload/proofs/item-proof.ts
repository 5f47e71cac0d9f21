/** Makes the proof of an item: its receipt, its header, and once its bundle is on the chain where it lies there. */
import { measureBundleHeader } from '../../formats/ans104/bundle-header.ts';
import type { ItemProof, ProofBundle, ProofChunk } from '../../formats/ans104/item-proof.ts';
import { sha256 } from '../../formats/arweave/merkle.ts';
import { type ProvenLeaf, verifyPath } from '../../formats/arweave/proof.ts';
import { decodeBase64url, encodeBase64url } from '../../formats/base64url.ts';
import { isRecord, requireText, tryParseJson } from '../../formats/json.ts';
import { type ArweaveNodes, type NodeChunk, NodeUnavailable } from '../../outside/arweave/nodes.ts';
import type { LookUp } from '../../outside/look-up.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { type BundleRow, findBundle } from '../bundler/bundle-rows.ts';
import { ProofTooLarge } from '../errors.ts';
import type { Receipt } from '../intake/receipts.ts';
import { readHead, type StoredItem } from '../items/item-rows.ts';

/** Items that cover more chunks have no proof: each chunk is asked of a node. */
const maxChunks = 4_096;

export interface ProofDeps {
  readonly sql: Sql;
  readonly nodes: ArweaveNodes;
  readonly receiptOf: (item: StoredItem) => Promise<Receipt>;
}

export async function proveItem(deps: ProofDeps, item: StoredItem): Promise<ItemProof> {
  const bundle = item.bundle === null ? undefined : await findBundle(deps.sql, item.bundle);
  const proven = bundle === undefined ? undefined : await proveBundle(deps, item, bundle);
  const head = (await readHead(deps.sql, item.id))?.subarray(0, item.payloadStart);
  const header = head ?? proven?.itemHeader;
  if (header === undefined)
    throw new NodeUnavailable(`the header of ${item.id} is neither here nor on the chain yet`);
  return {
    version: 1,
    id: item.id,
    receipt: await deps.receiptOf(item),
    item: { header: encodeBase64url(header), size: item.size },
    ...(proven !== undefined && { bundle: proven.bundle }),
  };
}

interface ProvenBundle {
  readonly bundle: ProofBundle;
  readonly itemHeader: Buffer;
}

/** Undefined until the bundle's transaction is mined and its chunks can be read. */
async function proveBundle(
  { nodes }: ProofDeps,
  item: StoredItem,
  bundle: BundleRow,
): Promise<ProvenBundle | undefined> {
  const { tx_id: id, tx, size } = bundle;
  if (id === null || tx === null || item.bundleOffset === null) return undefined;
  const transaction = tryParseJson(tx);
  if (!isRecord(transaction)) throw new Error(`bundle ${bundle.plan} has no transaction`);
  const place = knownOf(await nodes.txOffset(id));
  const status = knownOf(await nodes.txStatus(id));
  if (place === undefined || status?.state !== 'mined') return undefined;
  const reader = new BundleReader(
    nodes,
    decodeBase64url(requireText(transaction, 'data_root')),
    size,
    place.end,
  );
  const first = await reader.at(0);
  if (first === undefined) return undefined;
  const listBytes = measureBundleHeader(first.bytes, size, { lenient: true });
  if (typeof listBytes === 'string')
    throw new Error(`bundle ${bundle.plan} has no list of items: ${listBytes}`);
  const offset = item.bundleOffset;
  const end = offset + item.size;
  const chunks: ProofChunk[] = [];
  const header: Buffer[] = [];
  // The list from the bundle's start, then the item; what lies between is nobody's business.
  for (const span of [
    { from: 0, to: listBytes },
    { from: offset, to: end },
  ]) {
    for (let at = Math.max(span.from, chunks.at(-1)?.end ?? 0); at < span.to; ) {
      const chunk = await reader.at(at);
      if (chunk === undefined) return undefined;
      if (chunks.length === maxChunks) throw new ProofTooLarge();
      const ownFrom = clamp(offset - chunk.start, chunk.bytes.length);
      const ownTo = clamp(end - chunk.start, chunk.bytes.length);
      chunks.push({
        start: chunk.start,
        end: chunk.end,
        dataPath: encodeBase64url(chunk.dataPath),
        before: encodeBase64url(chunk.bytes.subarray(0, ownFrom)),
        after: encodeBase64url(chunk.bytes.subarray(ownTo)),
      });
      if (chunk.start < offset + item.payloadStart) header.push(chunk.bytes.subarray(ownFrom, ownTo));
      at = chunk.end;
    }
  }
  const block = await blockOf(nodes, status.blockHeight, first.txPath);
  return {
    bundle: { id, transaction, size, offset, chunks, ...(block !== undefined && { block }) },
    itemHeader: Buffer.concat(header).subarray(0, item.payloadStart),
  };
}

const clamp = (value: number, most: number): number => Math.min(Math.max(value, 0), most);

interface ReadChunk {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
  readonly dataPath: Buffer;
  readonly txPath: Buffer;
}

class BundleReader {
  readonly #nodes: ArweaveNodes;
  readonly #root: Buffer;
  readonly #size: number;
  readonly #first: bigint;

  constructor(nodes: ArweaveNodes, root: Buffer, size: number, end: bigint) {
    this.#nodes = nodes;
    this.#root = root;
    this.#size = size;
    // Offsets in the weave count from one.
    this.#first = end - BigInt(size) + 1n;
  }

  /** The chunk that has the byte at this place of the bundle; undefined where no node has it. */
  async at(offset: number): Promise<ReadChunk | undefined> {
    let leaf: ProvenLeaf | undefined;
    const isRight = ({ chunk, dataPath }: NodeChunk): boolean => {
      leaf = verifyPath(this.#root, offset, this.#size, dataPath);
      return leaf?.data.equals(sha256(chunk)) === true;
    };
    const chunk = knownOf(await this.#nodes.chunk(this.#first + BigInt(offset), isRight));
    if (chunk === undefined || leaf === undefined) return undefined;
    return {
      start: leaf.start,
      end: leaf.end,
      bytes: chunk.chunk,
      dataPath: chunk.dataPath,
      txPath: chunk.txPath,
    };
  }
}

async function blockOf(nodes: ArweaveNodes, height: number, txPath: Buffer): Promise<ProofBundle['block']> {
  const block = knownOf(await nodes.block(height));
  if (block === undefined || txPath.length === 0) return undefined;
  return { height, id: block.id, txRoot: block.txRoot, size: block.size, txPath: encodeBase64url(txPath) };
}

/** Undefined where it is absent; throws while that is not known. */
function knownOf<T>(answer: LookUp<T>): T | undefined {
  if (answer.state === 'not-known') {
    throw new NodeUnavailable('not all Arweave nodes could be asked', { cause: answer.cause });
  }
  return answer.state === 'found' ? answer.value : undefined;
}
