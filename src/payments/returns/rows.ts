/** Returns as they are kept. Whoever works on one has a lease, and its number: an older one has lost it. */
import { type Static, Type } from 'typebox';
import { type Credits, winc } from '../../credits/credits.ts';
import { namesOf } from '../../credits/ledger/accounts.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import { assignments, insertion } from '../../storage/sql/columns.ts';
import { dueBounds, isDue } from '../../storage/sql/due.ts';
import {
  columnList,
  columnsOf,
  fieldsReader,
  optionalInteger,
  optionalText,
} from '../../storage/sql/fields.ts';
import type { Row, Sql, SqlExecutor, SqlValue } from '../../storage/sql/sql.ts';
import { amountText, readInteger, readText } from '../../storage/sql/typed-rows.ts';
import { askAgainIn } from '../card/inbox.ts';
import { changeReturned, lockQuote } from '../card/quotes.ts';
import { type NewestQuery, newestRows } from '../newest.ts';
import { type ReturnState, returnKinds, returnStates, type SentReturn, undoneStates } from './returns.ts';

const storedReturn = Type.Object({
  id: Type.String(),
  /** Who asked under which signature: the same request answers the same return. */
  requestKey: Type.String(),
  address: Type.String(),
  addressType: Type.String(),
  kind: Type.Enum(returnKinds),
  payment: Type.String(),
  quoteId: optionalText,
  chain: optionalText,
  token: Type.String(),
  winc: amountText,
  amount: amountText,
  recipient: Type.String(),
  state: Type.Enum(returnStates),
  reference: optionalText,
  wire: optionalText,
  /** While it is under way: see `WayBack`. */
  queue: optionalText,
  validUntil: optionalInteger,
  /** How often it could not be sent, or what was sent came to nothing. */
  tries: Type.Integer(),
  reason: optionalText,
  dueAt: Type.Integer(),
  leasedUntil: Type.Integer(),
  leases: Type.Integer(),
  createdAt: Type.Integer(),
  changedAt: Type.Integer(),
});
type Stored = Readonly<Static<typeof storedReturn>>;
const readStored = fieldsReader('a return', storedReturn);
const columns = columnList(storedReturn.properties);

export interface ReturnRow
  extends SentReturn,
    Pick<Stored, 'requestKey' | 'queue' | 'tries' | 'dueAt' | 'leasedUntil' | 'leases'> {}

function fromStored(stored: Row): ReturnRow {
  const row = readStored(stored);
  return { ...row, winc: winc(BigInt(row.winc)), amount: BigInt(row.amount) };
}

const undone = undoneStates.map((state) => `'${state}'`).join(', ');

export async function insertReturn(tx: SqlExecutor, row: ReturnRow): Promise<void> {
  const values = columnsOf({ ...row });
  await changeOne(tx, `INSERT INTO payment_returns ${insertion(values)}`, ...Object.values(values));
}

async function select(executor: SqlExecutor, rest: string, ...values: SqlValue[]): Promise<ReturnRow[]> {
  const rows = await executor.all(`SELECT ${columns} FROM payment_returns ${rest}`, ...values);
  return rows.map(fromStored);
}

export async function readReturn(
  executor: SqlExecutor,
  id: string,
  lock: SqlExecutor['forUpdate'] = '',
): Promise<ReturnRow | undefined> {
  return (await select(executor, `WHERE id = ? ${lock}`, id))[0];
}

export async function returnByRequest(
  executor: SqlExecutor,
  requestKey: string,
): Promise<ReturnRow | undefined> {
  return (await select(executor, 'WHERE request_key = ?', requestKey))[0];
}

/** Of a wallet under every form of its address, the newest first. */
export async function returnsOf(executor: SqlExecutor, address: string, limit: number): Promise<ReturnRow[]> {
  const names = await namesOf(executor, address);
  const places = names.map(() => '?').join(', ');
  const rest = `WHERE address IN (${places}) ORDER BY created_at DESC, id DESC LIMIT ?`;
  return select(executor, rest, ...names, limit);
}

/** Those that have not given their credits back, of payments. */
export async function standingReturns(
  executor: SqlExecutor,
  payments: readonly string[],
): Promise<ReturnRow[]> {
  if (payments.length === 0) return [];
  const places = payments.map(() => '?').join(', ');
  return select(executor, `WHERE payment IN (${places}) AND state NOT IN (${undone})`, ...payments);
}

/** For operators, the newest first; one more than the page holds. */
export async function newestReturns(sql: Sql, query: NewestQuery): Promise<ReturnRow[]> {
  const rows = await newestRows(sql, { table: 'payment_returns', columns, id: 'id' }, query);
  return rows.map(fromStored);
}

/** Those that wait for a person, the oldest first. */
export const returnsByHand = (executor: SqlExecutor, limit: number): Promise<ReturnRow[]> =>
  select(executor, "WHERE state = 'by_hand' ORDER BY created_at, id LIMIT ?", limit);

export async function countReturns(executor: SqlExecutor, state: ReturnState): Promise<number> {
  const row = await executor.get('SELECT COUNT(*) AS n FROM payment_returns WHERE state = ?', state);
  return readInteger(row?.n);
}

/** Before something that could not be sent is tried again: nothing waits longer. */
export const returnRetry = { firstMs: 2_000, longestMs: 30 * 60_000 };
/** Whoever takes longer may be overtaken, which is harmless: what is stored as sent is the same for both. */
const leaseMs = 20_000;

export async function dueReturns(executor: SqlExecutor, now: number, limit: number): Promise<string[]> {
  const rows = await executor.all(
    `SELECT id FROM payment_returns
     WHERE state IN ('due', 'sent') AND ${isDue('due_at')} AND ${isDue('leased_until')} ORDER BY due_at LIMIT ?`,
    ...dueBounds(now, returnRetry.longestMs),
    ...dueBounds(now, leaseMs),
    limit,
  );
  return rows.map((row) => readText(row.id));
}

/** When there will be something to do; undefined when nothing is open. */
export async function nextReturnAt(executor: SqlExecutor): Promise<number | undefined> {
  const row = await executor.get(
    "SELECT MIN(due_at) AS due FROM payment_returns WHERE state IN ('due', 'sent')",
  );
  return row?.due === null || row?.due === undefined ? undefined : readInteger(row.due);
}

/** Takes an open return to work on; undefined when another has it or it has ended. */
export async function leaseReturn(tx: SqlExecutor, id: string, now: number): Promise<ReturnRow | undefined> {
  const leased = await tx.get(
    `UPDATE payment_returns SET leased_until = ?, leases = leases + 1
     WHERE id = ? AND state IN ('due', 'sent') AND ${isDue('leased_until')} RETURNING ${columns}`,
    now + leaseMs,
    id,
    ...dueBounds(now, leaseMs),
  );
  return leased && fromStored(leased);
}

type Changing = Pick<
  ReturnRow,
  'state' | 'reference' | 'wire' | 'queue' | 'validUntil' | 'tries' | 'reason' | 'dueAt'
>;

/** Writes what became of a return and lets it go; false when it is no longer as it was read: another has moved it. */
export async function moveReturn(
  tx: SqlExecutor,
  before: ReturnRow,
  change: Partial<Changing>,
  now: number,
  keepLease = false,
): Promise<boolean> {
  const values = columnsOf({ ...change, ...(keepLease ? {} : { leasedUntil: 0 }), changedAt: now });
  const changed = await tx.run(
    `UPDATE payment_returns SET ${assignments(values)} WHERE id = ? AND state = ? AND leases = ?`,
    ...Object.values(values),
    before.id,
    before.state,
    before.leases,
  );
  return changed === 1;
}

/** Whether another transfer of the same sender is under way: it must end before the next is made. */
export async function isQueueBusy(executor: SqlExecutor, queue: string): Promise<boolean> {
  const row = await executor.get(
    "SELECT 1 AS busy FROM payment_returns WHERE state = 'sent' AND queue = ? LIMIT 1",
    queue,
  );
  return row !== undefined;
}

/** The money has gone: what was taken is spent. False when another has moved the return. */
export async function confirmReturn(
  tx: SqlExecutor,
  credits: Credits,
  row: ReturnRow,
  reference: string | undefined,
  now: number,
): Promise<boolean> {
  const change = { state: 'confirmed', reference: reference ?? row.reference, reason: undefined } as const;
  if (!(await moveReturn(tx, row, change, now))) return false;
  await credits.within(tx).settle('payment_return', row.id);
  return true;
}

/**
 * It has not gone and will not: what was taken is given back, once. False when another has moved the return. The quote
 * of a card payment is locked first, as by everybody who changes both.
 */
export async function undoReturn(
  tx: SqlExecutor,
  credits: Credits,
  row: ReturnRow,
  how: { readonly state: 'failed' | 'refused'; readonly reason: string },
  now: number,
): Promise<boolean> {
  if (row.quoteId !== undefined) await lockQuote(tx, row.quoteId);
  if (!(await moveReturn(tx, row, how, now))) return false;
  if (row.quoteId !== undefined) {
    await changeReturned(tx, row.quoteId, -row.winc, now);
    // The payment may have gone back otherwise meanwhile, and what was being returned was not taken for that.
    await askAgainIn(tx, row.quoteId, `return ${row.id}`, now);
  }
  const given = await credits.within(tx).refund('payment_return', row.id);
  if (given?.amount !== row.winc) throw new Error(`the credits of return ${row.id} are not in the ledger`);
  return true;
}

/** The refund of a card failed, maybe after it was made. The caller holds the quote. Does nothing when it was undone before. */
export async function failReturn(
  tx: SqlExecutor,
  credits: Credits,
  id: string,
  reason: string,
  now: number,
): Promise<void> {
  const row = await readReturn(tx, id, tx.forUpdate);
  if (row === undefined || undoneStates.includes(row.state)) return;
  await undoReturn(tx, credits, row, { state: 'failed', reason }, now);
}
