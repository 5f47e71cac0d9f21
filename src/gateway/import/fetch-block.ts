/**
 * Blocks and their transactions from nodes, read strictly. A transaction is believed only when its signature and id
 * are right; what no node gives rightly is reported as missing and fetched later.
 */
import { hash } from 'node:crypto';
import type { Transaction } from '../../formats/arweave/transaction.ts';
import { parseTransactionJson } from '../../formats/arweave/transaction-json.ts';
import { transactionOwner, verifyTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { isTxId, tryDecodeBase64url } from '../../formats/base64url.ts';
import { FormatError } from '../../formats/format-error.ts';
import { isCount, isRecord, tryParseJson } from '../../formats/json.ts';
import type { AskOptions, NodePool } from '../../outside/arweave/node-pool.ts';
import type { NewBlock } from '../chain-index/blocks.ts';
import { MAX_BLOCK_INDEX, MAX_HEIGHT, TRANSACTION } from '../chain-index/order.ts';
import type { Header } from '../chain-index/records.ts';
import { ECDSA_SIGNATURE } from '../chain-index/sql-index.ts';
import { upstreamFailed } from '../errors.ts';

export interface FetchedBlock extends NewBlock {
  /** Ids in block order. */
  readonly txs: readonly string[];
}

/** The block at a height; undefined when the chain is not that long. */
export async function fetchBlock(
  nodes: NodePool,
  height: number,
  signal?: AbortSignal,
): Promise<FetchedBlock | undefined> {
  const answer = await nodes.get(`/block/height/${height}`, { signal, lane: 'import' });
  if (answer.status !== 200) return undefined;
  const block = parseBlock(answer.body);
  if (block === undefined || block.height !== height) {
    throw upstreamFailed(new Error(`${answer.url} gave no block for height ${height}`));
  }
  return block;
}

export function parseBlock(body: Buffer): FetchedBlock | undefined {
  const json = tryParseJson(body.toString('utf8'));
  if (!isRecord(json)) return undefined;
  const { height, timestamp, txs } = json;
  const id = hashBytes(json.indep_hash);
  const previous = hashBytes(json.previous_block);
  if (!isCount(height) || height > MAX_HEIGHT || !isCount(timestamp)) return undefined;
  if (id === undefined || id.length === 0 || previous === undefined) return undefined;
  if (!Array.isArray(txs) || txs.length > MAX_BLOCK_INDEX) return undefined;
  const ids = txs.filter((one): one is string => typeof one === 'string' && isTxId(one));
  if (ids.length !== txs.length || new Set(ids).size !== ids.length) return undefined;
  return {
    height,
    id,
    previous,
    timestamp,
    txCount: ids.length,
    blockSize: decimal(json.block_size),
    weaveSize: decimal(json.weave_size),
    json: body,
    txs: ids,
  };
}

/** The header of `fetchSigned`. */
export async function fetchTransaction(
  nodes: NodePool,
  id: string,
  path: 'tx' | 'unconfirmed_tx',
  asked: Pick<AskOptions, 'lane' | 'signal'>,
): Promise<Header | undefined> {
  const transaction = await fetchSigned(nodes, id, path, asked);
  return transaction && headerOf(transaction);
}

/**
 * A transaction; undefined when no node has it, or none gives it rightly signed. Nodes that cannot be asked are an
 * `UpstreamError`.
 */
export async function fetchSigned(
  nodes: NodePool,
  id: string,
  path: 'tx' | 'unconfirmed_tx',
  asked: Pick<AskOptions, 'lane' | 'signal'>,
): Promise<SignedTransaction | undefined> {
  for await (const answer of nodes.each(`/${path}/${id}`, asked)) {
    if (answer.status !== 200) continue;
    const transaction = await parseSigned(tryParseJson(answer.body.toString('utf8')), id);
    if (transaction !== undefined) return transaction;
    answer.distrust();
  }
  return undefined;
}

/** A transaction whose signature is right and names its signer. */
export interface SignedTransaction extends Transaction {
  readonly ownerKey: Buffer;
}

/** A transaction's JSON; undefined when it is none, is not rightly signed, or has another id. */
export async function parseSigned(json: unknown, id?: string): Promise<SignedTransaction | undefined> {
  try {
    const transaction = parseTransactionJson(json);
    if (id !== undefined && transaction.id.toString('base64url') !== id) return undefined;
    if (!(await verifyTransactionAsync(transaction))) return undefined;
    const ownerKey = transactionOwner(transaction);
    return ownerKey && { ...transaction, ownerKey };
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

/** 48 bytes, 32 in the oldest blocks, none before the first block. */
function hashBytes(value: unknown): Buffer | undefined {
  const bytes = typeof value === 'string' ? tryDecodeBase64url(value) : undefined;
  return bytes !== undefined && [0, 32, 48].includes(bytes.length) ? bytes : undefined;
}

/** Amounts of blocks are integers in the local chain and decimal strings elsewhere. */
function decimal(value: unknown): string {
  if (isCount(value)) return String(value);
  return typeof value === 'string' && /^[0-9]{1,40}$/.test(value) ? value : '0';
}

const RSA_SIGNATURE = 1;

/** A chain transaction as a header of the index. */
export function headerOf({ ownerKey, ...transaction }: SignedTransaction): Header {
  return {
    id: transaction.id,
    kind: TRANSACTION,
    ownerKey,
    ownerAddress: hash('sha256', ownerKey, 'buffer'),
    signature: transaction.signature,
    signatureType: transaction.owner.length === 0 ? ECDSA_SIGNATURE : RSA_SIGNATURE,
    format: transaction.format,
    target: orNull(transaction.target),
    anchor: orNull(transaction.lastTx),
    quantity: String(transaction.quantity),
    reward: String(transaction.reward),
    denomination: transaction.denomination,
    dataSize: transaction.dataSize,
    dataRoot: orNull(transaction.dataRoot),
    tags: transaction.tags,
  };
}

function orNull(bytes: Buffer): Buffer | null {
  return bytes.length === 0 ? null : bytes;
}
