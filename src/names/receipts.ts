/** What was bought, by whom, for whom: a history, not a proof of ownership (interface §4.2 `my-names`). */
import type { Sql, SqlExecutor } from '../storage/sql/sql.ts';

/**
 * Whom the service holds the token for: nobody, because somebody else has it; the buyer; or the operator, because the
 * payment has gone back.
 */
type Custody = 'none' | 'buyer' | 'operator';

const stored: Readonly<Record<Custody, number>> = { none: 0, buyer: 1, operator: 2 };

export interface Receipt {
  /** Action nonce or card purchase nonce: one receipt each. */
  readonly reference: string;
  readonly name: string;
  readonly antId: string | undefined;
  readonly intent: string;
  readonly type?: 'lease' | 'permabuy';
  readonly years?: number;
  readonly payer: string;
  readonly owner?: string;
  readonly custody: Custody;
  /** Unix milliseconds. */
  readonly purchasedAt: number;
}

interface Row {
  name: string;
  ant_id: string;
  intent: string;
  type: string | null;
  years: number | null;
  custodial: number;
  purchased_at: number;
}

/** Receipts that are read for one address; older ones of the same names would not show anyway. */
const maxReceipts = 10_000;

export async function writeReceipt(tx: SqlExecutor, receipt: Receipt): Promise<void> {
  await tx.run(
    `INSERT INTO arns_receipt (reference, name, ant_id, intent, type, years, payer, owner, custodial, purchased_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (reference) DO NOTHING`,
    receipt.reference,
    receipt.name,
    receipt.antId ?? '',
    receipt.intent,
    receipt.type ?? null,
    receipt.years ?? null,
    receipt.payer,
    receipt.owner ?? null,
    stored[receipt.custody],
    receipt.purchasedAt,
  );
}

/** Whom the service holds a token for; undefined where it holds it for nobody. In a transaction it stays so to its end. */
export async function custodialPayer(sql: SqlExecutor, antId: string): Promise<string | undefined> {
  const row = await sql.get<{ payer: string }>(
    `SELECT payer FROM arns_receipt WHERE ant_id = ? AND custodial = 1 ORDER BY id DESC LIMIT 1 ${sql.forUpdate}`,
    antId,
  );
  return row?.payer;
}

/** The token was handed over to a wallet; also one that was taken back while it was on its way there. */
export async function endCustody(tx: SqlExecutor, antId: string, owner: string): Promise<void> {
  await tx.run(
    'UPDATE arns_receipt SET custodial = 0, owner = ? WHERE ant_id = ? AND custodial IN (1, 2)',
    owner,
    antId,
  );
}

/** The payment of a name went back: the token that the service still has is the buyer's no longer. */
export async function takeBackCustody(tx: SqlExecutor, reference: string): Promise<void> {
  await tx.run('UPDATE arns_receipt SET custodial = 2 WHERE reference = ? AND custodial = 1', reference);
}

/** The payment came again: what the service still has is the buyer's again. */
export async function giveBackCustody(tx: SqlExecutor, reference: string): Promise<void> {
  await tx.run('UPDATE arns_receipt SET custodial = 1 WHERE reference = ? AND custodial = 2', reference);
}

interface HoldingRow {
  readonly reference: string;
  readonly name: string;
  readonly antId: string;
  readonly payer: string;
  readonly owner: string | null;
  readonly custodial: number;
}
const holdingColumns = 'reference, name, ant_id AS "antId", payer, owner, custodial';

/** Where the token of a purchase is. */
export interface Holding extends HoldingRow {
  readonly custody: Custody;
}

export async function holdingOf(executor: SqlExecutor, reference: string): Promise<Holding | undefined> {
  const row = await executor.get<HoldingRow>(
    `SELECT ${holdingColumns} FROM arns_receipt WHERE reference = ?`,
    reference,
  );
  return row && toHolding(row);
}

/** Tokens that the service keeps because their payment has gone back, the newest first. */
export async function takenBackNames(executor: SqlExecutor, limit: number): Promise<Holding[]> {
  const rows = await executor.all<HoldingRow>(
    `SELECT ${holdingColumns} FROM arns_receipt WHERE custodial = 2 ORDER BY id DESC LIMIT ?`,
    limit,
  );
  return rows.map(toHolding);
}

function toHolding(row: HoldingRow): Holding {
  const custody = row.custodial === 1 ? 'buyer' : row.custodial === 2 ? 'operator' : 'none';
  return { ...row, custody };
}

/**
 * One entry per name, newest first: the newest receipt that carries a token stands for the name. A token that was
 * taken back from the address is not listed as its own, by none of its receipts.
 */
export async function namesOf(sql: Sql, address: string) {
  const select = (column: 'payer' | 'owner') =>
    sql.all<Row & { id: number }>(
      `SELECT id, name, ant_id, intent, type, years, custodial, purchased_at FROM arns_receipt
        WHERE ${column} = ? AND NOT EXISTS (
          SELECT 1 FROM arns_receipt AS taken
          WHERE taken.ant_id = arns_receipt.ant_id AND taken.custodial = 2 AND taken.payer = ?)
        ORDER BY id DESC LIMIT ?`,
      address,
      address,
      maxReceipts,
    );
  const [paid, owned] = await Promise.all([select('payer'), select('owner')]);
  const rows = [...paid, ...owned].sort((a, b) => b.id - a.id);
  const chosen = new Map<string, Row>();
  for (const row of rows) {
    const known = chosen.get(row.name);
    if (known === undefined || better(row, known)) chosen.set(row.name, row);
  }
  return [...chosen.values()].map(toOwnedName);
}

/** A purchase says more than an extension of the same name. */
function better(row: Row, known: Row): boolean {
  const rank = (entry: Row) => (entry.ant_id === '' ? 0 : /^Buy-/.test(entry.intent) ? 2 : 1);
  return rank(row) > rank(known);
}

function toOwnedName(row: Row) {
  const custodial = row.custodial === 1;
  return {
    name: row.name,
    antId: row.ant_id,
    intent: row.intent,
    ...(row.type !== null && { type: row.type }),
    ...(row.years !== null && { years: row.years }),
    purchaseDate: new Date(row.purchased_at).toISOString(),
    custodial,
    selfCustody: !custodial && row.ant_id !== '',
  };
}
