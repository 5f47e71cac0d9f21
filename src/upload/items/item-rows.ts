/** Items as rows: what was taken in, what it cost, and how far it is on its way to the chain. */
import { parseAmount, type Winc, winc } from '../../credits/credits.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { dropBlobs } from './blob-uses.ts';
import { formatSegments, parseSegments, type Segment } from './segments.ts';

export type ItemState = 'new' | 'planned' | 'permanent' | 'failed';

export interface StoredItem {
  readonly id: string;
  /** SHA-256 of the owner's key, for every signature type. */
  readonly owner: string;
  /** The wallet that signed, in its chain's form. */
  readonly signer: string;
  readonly signatureType: number;
  /** Of the whole item. */
  readonly size: number;
  readonly payloadStart: number;
  readonly contentType: string;
  readonly winc: Winc;
  /** Unix milliseconds: the receipt's timestamp. */
  readonly receivedAt: number;
  readonly deadlineHeight: number;
  /** What the first answer said beside the receipt: approvals, x402 payment. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** Where the bytes behind the head are. */
  readonly segments: readonly Segment[];
  /** False once the local copy has been let go. */
  readonly held: boolean;
  readonly state: ItemState;
  readonly bundle: string | undefined;
  readonly bundleOffset: number | undefined;
  readonly failedReason: string | undefined;
  /** The receipt's signature once it was made, and the address of the key that made it. */
  readonly receipt: StoredSignature | undefined;
}

export interface StoredSignature {
  readonly key: string;
  readonly signature: Buffer;
}

export type NewItem = Omit<
  StoredItem,
  'held' | 'state' | 'bundle' | 'bundleOffset' | 'failedReason' | 'receipt'
> & {
  /** Header, and the payload when it is small. */
  readonly head: Buffer;
  /** Whether the blobs behind it were noted for it, or are in use by its parts. */
  readonly isNoted: boolean;
  /** When to tell the gateway; undefined where there is none to tell. */
  readonly announceAt: number | undefined;
};

/** False when the id is stored already: nothing changed then. */
export async function insertItem(tx: SqlExecutor, item: NewItem): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO upload_items (id, owner, signer, signature_type, size, payload_start, content_type, winc,
       received_at, deadline_height, answer, segments, held, state, failures, announce_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 'new', 0, ?) ON CONFLICT (id) DO NOTHING`,
    item.id,
    item.owner,
    item.signer,
    item.signatureType,
    item.size,
    item.payloadStart,
    item.contentType,
    item.winc.toString(),
    item.receivedAt,
    item.deadlineHeight,
    Object.keys(item.answer).length === 0 ? null : JSON.stringify(item.answer),
    formatSegments(item.segments),
    item.announceAt ?? null,
  );
  if (inserted === 0) return false;
  await tx.run('INSERT INTO upload_heads (id, bytes) VALUES (?, ?)', item.id, item.head);
  return true;
}

/** The answer is known only once credits have moved, in the same transaction. */
export async function setAnswer(
  tx: SqlExecutor,
  id: string,
  answer: Readonly<Record<string, unknown>>,
): Promise<void> {
  await tx.run('UPDATE upload_items SET answer = ? WHERE id = ?', JSON.stringify(answer), id);
}

/** An item's receipt as it was signed. One that failed and came again since then has another. */
export async function setReceipt(
  tx: SqlExecutor,
  item: Pick<StoredItem, 'id' | 'receivedAt' | 'deadlineHeight'>,
  { key, signature }: StoredSignature,
): Promise<void> {
  await tx.run(
    `UPDATE upload_items SET receipt_signature = ?, receipt_key = ?
     WHERE id = ? AND received_at = ? AND deadline_height = ?`,
    signature,
    key,
    item.id,
    item.receivedAt,
    item.deadlineHeight,
  );
}

interface ItemRow {
  id: string;
  owner: string;
  signer: string;
  signature_type: number;
  size: number;
  payload_start: number;
  content_type: string;
  winc: string;
  received_at: number;
  deadline_height: number;
  answer: string | null;
  segments: string | null;
  held: number;
  state: ItemState;
  bundle: string | null;
  bundle_offset: number | null;
  failed_reason: string | null;
  receipt_signature: Buffer | null;
  receipt_key: string | null;
}

const columns = `id, owner, signer, signature_type, size, payload_start, content_type, winc, received_at,
  deadline_height, answer, segments, held, state, bundle, bundle_offset, failed_reason,
  receipt_signature, receipt_key`;

export async function findItem(sql: SqlExecutor, id: string): Promise<StoredItem | undefined> {
  const row = await sql.get<ItemRow>(`SELECT ${columns} FROM upload_items WHERE id = ?`, id);
  return row === undefined ? undefined : toItem(row);
}

/** An item that will be on the chain: one that failed was paid back, and may come again. */
export async function findKept(sql: SqlExecutor, id: string): Promise<StoredItem | undefined> {
  const item = await findItem(sql, id);
  return item?.state === 'failed' ? undefined : item;
}

/** Makes room for an item that failed and comes again; false when there is none. */
export async function forgetFailed(tx: SqlExecutor, id: string, now: number): Promise<boolean> {
  const row = await tx.get<{ segments: string | null }>(
    "DELETE FROM upload_items WHERE id = ? AND state = 'failed' RETURNING segments",
    id,
  );
  if (row === undefined) return false;
  await tx.run('DELETE FROM upload_heads WHERE id = ?', id);
  await dropBlobs(tx, parseSegments(row.segments), now);
  return true;
}

/** Items of a bundle from a position on, in their order. */
export async function bundledItems(
  sql: SqlExecutor,
  bundle: string,
  from: number,
  limit: number,
): Promise<StoredItem[]> {
  const rows = await sql.all<ItemRow>(
    `SELECT ${columns} FROM upload_items WHERE bundle = ? AND position >= ? ORDER BY position LIMIT ?`,
    bundle,
    from,
    limit,
  );
  return rows.map(toItem);
}

export async function readHead(sql: SqlExecutor, id: string): Promise<Buffer | undefined> {
  return (await sql.get<{ bytes: Buffer }>('SELECT bytes FROM upload_heads WHERE id = ?', id))?.bytes;
}

function toItem(row: ItemRow): StoredItem {
  return {
    id: row.id,
    owner: row.owner,
    signer: row.signer,
    signatureType: row.signature_type,
    size: row.size,
    payloadStart: row.payload_start,
    contentType: row.content_type,
    winc: winc(parseAmount(row.winc) ?? 0n),
    receivedAt: row.received_at,
    deadlineHeight: row.deadline_height,
    answer: row.answer === null ? {} : JSON.parse(row.answer),
    segments: parseSegments(row.segments),
    held: row.held === 1,
    state: row.state,
    bundle: row.bundle ?? undefined,
    bundleOffset: row.bundle_offset ?? undefined,
    failedReason: row.failed_reason ?? undefined,
    receipt: storedSignature(row),
  };
}

function storedSignature({ receipt_key: key, receipt_signature: signature }: ItemRow) {
  return key === null || signature === null ? undefined : { key, signature };
}
