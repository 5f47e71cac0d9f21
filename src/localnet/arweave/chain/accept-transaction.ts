/** POST /tx: everything a node checks before a transaction enters the mempool, then one durable write. */
import { nodeSplit } from '../../../formats/arweave/chunks.ts';
import { type DataTree, dataTreeOf } from '../../../formats/arweave/data-root.ts';
import { sha256 } from '../../../formats/arweave/merkle.ts';
import { type Transaction, TransactionRuleError } from '../../../formats/arweave/transaction.ts';
import { parseTransactionJson, transactionToJson } from '../../../formats/arweave/transaction-json.ts';
import { ownerAddress, verifyTransactionAsync } from '../../../formats/arweave/transaction-signature.ts';
import { versionOneDataRoot } from '../../../formats/arweave/tx-tree.ts';
import { encodeBase64url } from '../../../formats/base64url.ts';
import { FormatError } from '../../../formats/format-error.ts';
import type { Sql, SqlExecutor } from '../../../storage/sql/sql.ts';
import {
  alreadyInMempool,
  alreadyOnWeave,
  anchorInMempool,
  badAnchor,
  invalidJson,
  unknownSplit,
} from '../errors.ts';
import { storageFee } from '../rules.ts';
import { headHeight, isGoodAnchor } from './blocks.ts';
import { putInlineData } from './chunks.ts';
import { readPlace } from './transactions.ts';
import { readWallet } from './wallets.ts';

/** A transaction the chain does not take; the codes are what GET /tx/{id} later says with 410. */
export class VerificationFailed extends Error {
  override readonly name = 'VerificationFailed';
  readonly codes: readonly string[];

  constructor(codes: readonly string[]) {
    super(codes.join(' '));
    this.codes = codes;
  }
}

/** Puts the transaction into the mempool or throws `VerificationFailed` or the node's refusal. */
export async function acceptTransaction(sql: Sql, json: unknown): Promise<void> {
  const transaction = parse(json);
  if (!sha256(transaction.signature).equals(transaction.id))
    throw new VerificationFailed(['tx_id_not_valid']);
  const owner = ownerAddress(transaction);
  if (owner === undefined) throw new VerificationFailed(['tx_signature_not_valid']);
  if (owner.equals(transaction.target)) throw new VerificationFailed(['same_owner_as_target']);
  if (!(await verifyTransactionAsync(transaction))) throw new VerificationFailed(['tx_signature_not_valid']);
  const tree = inlineTree(transaction);
  const posted: Posted = {
    transaction,
    id: encodeBase64url(transaction.id),
    owner: encodeBase64url(owner),
    target: encodeBase64url(transaction.target),
    anchor: encodeBase64url(transaction.lastTx),
    dataRoot: transaction.format === 1 ? versionOneDataRoot(transaction.data) : transaction.dataRoot,
  };
  await sql.transaction(async (tx) => {
    await checkState(tx, posted);
    await insert(tx, posted);
    if (tree !== undefined) await putInlineData(tx, transaction.data, tree);
  });
}

interface Posted {
  readonly transaction: Transaction;
  readonly id: string;
  readonly owner: string;
  readonly target: string;
  readonly anchor: string;
  readonly dataRoot: Buffer;
}

function parse(json: unknown): Transaction {
  try {
    return parseTransactionJson(json);
  } catch (error) {
    if (error instanceof TransactionRuleError) throw new VerificationFailed([error.code]);
    if (error instanceof FormatError) throw invalidJson();
    throw error;
  }
}

/** The tree of data that came along. The node cuts it itself, so only its own cut is taken. */
function inlineTree(transaction: Transaction): DataTree | undefined {
  if (transaction.data.length === 0) return undefined;
  const tree = dataTreeOf(transaction.data, nodeSplit);
  if (transaction.format === 2 && !tree.root.equals(transaction.dataRoot)) throw unknownSplit();
  return tree;
}

/** Duplicates, price, funds, anchor: against the chain and the mempool as they are in this very moment. */
async function checkState(tx: SqlExecutor, posted: Posted): Promise<void> {
  const { transaction, owner, target, anchor } = posted;
  const known = await readPlace(tx, posted.id);
  if (known !== undefined) throw known.height === null ? alreadyInMempool() : alreadyOnWeave();
  const opensAccount = target !== '' && (await readWallet(tx, target)) === undefined;
  const codes: string[] = [];
  if (transaction.reward < storageFee(transaction.dataSize, opensAccount)) codes.push('tx_too_cheap');
  const wallet = await readWallet(tx, owner);
  const promised = await pendingSpend(tx, owner);
  if ((wallet?.balance ?? 0n) < promised + transaction.quantity + transaction.reward) codes.push('overspend');
  if (codes.length > 0) throw new VerificationFailed(codes);
  const anchored = anchor === '' ? undefined : await readPlace(tx, anchor);
  if (anchored?.height === null) throw anchorInMempool();
  if (!(await isGoodAnchor(tx, anchor, wallet, await headHeight(tx)))) throw badAnchor();
}

async function pendingSpend(tx: SqlExecutor, owner: string): Promise<bigint> {
  const rows = await tx.all<{ quantity: string; reward: string }>(
    'SELECT quantity, reward FROM transactions WHERE owner = ? AND height IS NULL',
    owner,
  );
  return rows.reduce((sum, row) => sum + BigInt(row.quantity) + BigInt(row.reward), 0n);
}

async function insert(tx: SqlExecutor, posted: Posted): Promise<void> {
  const { transaction } = posted;
  const header = transactionToJson(transaction, transaction.format === 1 ? 'with data' : 'header');
  await tx.run(
    `INSERT INTO transactions
       (id, owner, target, quantity, reward, anchor, format, data_root, data_size, header)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    posted.id,
    posted.owner,
    posted.target,
    transaction.quantity,
    transaction.reward,
    posted.anchor,
    transaction.format,
    posted.dataRoot,
    transaction.dataSize,
    JSON.stringify(header),
  );
}
