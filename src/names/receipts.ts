/** What was bought, by whom, for whom: a history, not a proof of ownership (interface §4.2 `my-names`). */
import type { Sql, SqlExecutor } from '../storage/sql/sql.ts';

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
  /** The service still holds the token. */
  readonly custodial: boolean;
  /** Unix milliseconds. */
  readonly purchasedAt: number;
}

export interface OwnedName {
  readonly name: string;
  readonly antId: string;
  readonly intent: string;
  readonly type?: string;
  readonly years?: number;
  readonly purchaseDate: string;
  readonly custodial: boolean;
  readonly selfCustody: boolean;
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
    receipt.custodial ? 1 : 0,
    receipt.purchasedAt,
  );
}

/** Whoever paid for a name the service holds for him; undefined where it holds none. */
export async function custodialPayer(sql: SqlExecutor, antId: string): Promise<string | undefined> {
  const row = await sql.get<{ payer: string }>(
    'SELECT payer FROM arns_receipt WHERE ant_id = ? AND custodial = 1 ORDER BY id DESC LIMIT 1',
    antId,
  );
  return row?.payer;
}

/** The token was handed over to its buyer's own wallet. */
export async function endCustody(tx: SqlExecutor, antId: string, owner: string): Promise<void> {
  await tx.run(
    'UPDATE arns_receipt SET custodial = 0, owner = ? WHERE ant_id = ? AND custodial = 1',
    owner,
    antId,
  );
}

/** One entry per name, newest first: the newest receipt that carries a token stands for the name. */
export async function namesOf(sql: Sql, address: string): Promise<OwnedName[]> {
  const select = (column: 'payer' | 'owner') =>
    sql.all<Row & { id: number }>(
      `SELECT id, name, ant_id, intent, type, years, custodial, purchased_at FROM arns_receipt
        WHERE ${column} = ? ORDER BY id DESC LIMIT ?`,
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

/** A purchase tells more than an extension of the same name. */
function better(row: Row, known: Row): boolean {
  const rank = (entry: Row) => (entry.ant_id === '' ? 0 : /^Buy-/.test(entry.intent) ? 2 : 1);
  return rank(row) > rank(known);
}

function toOwnedName(row: Row): OwnedName {
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
