/** Items as rows: what was taken in, what it cost, and how far it is on its way to the chain. */
import { type Static, Type } from 'typebox';
import { type Winc, winc } from '../../credits/credits.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { selection } from '../../storage/sql/columns.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import {
  amountText,
  bytesOrNull,
  flag,
  integerOrNull,
  jsonReader,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import { dropBlobs } from './blob-uses.ts';
import { formatSegments, parseSegments, type Segment } from './segments.ts';

const states = ['new', 'planned', 'permanent', 'failed'] as const;
export type ItemState = (typeof states)[number];

const storedItem = Type.Object({
  id: Type.String(),
  /** SHA-256 of the owner's key, for every signature type. */
  owner: Type.String(),
  /** The wallet that signed, in its chain's form. */
  signer: Type.String(),
  signatureType: Type.Integer(),
  /** Of the whole item. */
  size: Type.Integer(),
  payloadStart: Type.Integer(),
  contentType: Type.String(),
  winc: amountText,
  /** Unix milliseconds: the receipt's timestamp. */
  receivedAt: Type.Integer(),
  deadlineHeight: Type.Integer(),
  answer: textOrNull,
  segments: textOrNull,
  held: flag,
  state: Type.Enum(states),
  bundle: textOrNull,
  bundleOffset: integerOrNull,
  failedReason: textOrNull,
  receiptSignature: bytesOrNull,
  receiptKey: textOrNull,
  /** A bit for each gateway that was told of it. */
  told: integerOrNull,
});
const columns = selection(Object.keys(storedItem.properties));
const readStored = rowReader('an uploaded item', storedItem);
const readAnswer = jsonReader('the answer to an upload', Type.Record(Type.String(), Type.Unknown()));

type ReadHere = 'winc' | 'answer' | 'segments' | 'held' | 'receiptSignature' | 'receiptKey';
export interface StoredItem extends Readonly<Omit<Static<typeof storedItem>, ReadHere>> {
  readonly winc: Winc;
  /** What the first answer said beside the receipt: approvals, x402 payment. */
  readonly answer: Readonly<Record<string, unknown>>;
  /** Where the bytes behind the head are. */
  readonly segments: readonly Segment[];
  /** False once the local copy was deleted. */
  readonly held: boolean;
  /** The receipt's signature once it was made, and the address of the key that made it. */
  readonly receipt: StoredSignature | undefined;
}

export interface StoredSignature {
  readonly key: string;
  readonly signature: Buffer;
}

export type NewItem = Omit<
  StoredItem,
  'held' | 'state' | 'bundle' | 'bundleOffset' | 'failedReason' | 'receipt' | 'told'
> & {
  /** Header, and the payload when it is small. */
  readonly head: Buffer;
  /** Whether the blobs behind it were noted for it, or are in use by its parts. */
  readonly isNoted: boolean;
  /** When to announce it to gateways; undefined where there is none. */
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
  await changeOne(tx, 'UPDATE upload_items SET answer = ? WHERE id = ?', JSON.stringify(answer), id);
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

export async function findItem(sql: SqlExecutor, id: string): Promise<StoredItem | undefined> {
  const row = await sql.get(`SELECT ${columns} FROM upload_items WHERE id = ?`, id);
  return row && toItem(row);
}

/** An item that will be on the chain: one that failed was paid back, and may come again. */
export async function findKept(sql: SqlExecutor, id: string): Promise<StoredItem | undefined> {
  const item = await findItem(sql, id);
  return item?.state === 'failed' ? undefined : item;
}

/** Removes an item that failed, so that it can be uploaded again; false when there is none. */
export async function forgetFailed(tx: SqlExecutor, id: string, now: number): Promise<boolean> {
  const row = await tx.get<{ segments: string | null }>(
    "DELETE FROM upload_items WHERE id = ? AND state = 'failed' RETURNING segments",
    id,
  );
  if (row === undefined) return false;
  await tx.run('DELETE FROM upload_heads WHERE id = ?', id);
  await tx.run('DELETE FROM upload_announcements WHERE id = ?', id);
  await dropBlobs(tx, parseSegments(row.segments), now);
  return true;
}

export async function readHead(sql: SqlExecutor, id: string): Promise<Buffer | undefined> {
  return (await sql.get<{ bytes: Buffer }>('SELECT bytes FROM upload_heads WHERE id = ?', id))?.bytes;
}

function toItem(stored: unknown): StoredItem {
  const row = readStored(stored);
  const { receiptKey: key, receiptSignature: signature } = row;
  return {
    ...row,
    winc: winc(BigInt(row.winc)),
    answer: row.answer === null ? {} : readAnswer(row.answer),
    segments: parseSegments(row.segments),
    held: row.held === 1,
    receipt: key === null || signature === null ? undefined : { key, signature },
  };
}
