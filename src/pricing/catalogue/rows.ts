/** The catalogue's rows: what operators may add to prices, and how they are kept. */
import { randomUUID } from 'node:crypto';
import { Type } from 'typebox';
import { insertion } from '../../storage/sql/columns.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText, integerOrNull, rowReader, textOrNull } from '../../storage/sql/typed-rows.ts';
import { isPositive, parseDecimal } from '../decimal.ts';
import type { AdjustmentRow, Operator } from '../quotes/adjust.ts';
import type { UploadRow } from '../quotes/bytes.ts';
import type { DiscountRow } from '../quotes/fiat.ts';

type Exclusivity = 'inclusive' | 'exclusive' | 'inclusive_kyve';
type TargetGroup = 'all' | 'new' | 'existing';

interface Timed {
  readonly priority: number;
  readonly startsAt: number;
  /** Undefined: open. */
  readonly endsAt: number | undefined;
}

export interface UploadAdjustment extends UploadRow, Timed {
  readonly kind: 'upload';
  readonly limitIntervalMs: number;
}

export interface PaymentAdjustment extends AdjustmentRow, Timed {
  readonly kind: 'payment';
  readonly exclusivity: Exclusivity;
}

export interface PromoCode extends AdjustmentRow, DiscountRow, Timed {
  readonly kind: 'promo';
  readonly promoCode: string;
  readonly targetGroup: TargetGroup;
  /** 0 = unlimited. */
  readonly maxUses: number;
  /** US cents; 0 = none. */
  readonly minimumPayment: number;
}

export type CatalogueRow = UploadAdjustment | PaymentAdjustment | PromoCode;

/** What an operator writes; everything left out has the default of its field. */
export interface NewRow {
  readonly kind: CatalogueRow['kind'];
  readonly name: string;
  readonly description?: string;
  readonly operator: Operator;
  readonly magnitude: string;
  readonly priority?: number;
  readonly startsAt?: number;
  readonly endsAt?: number;
  readonly exclusivity?: Exclusivity;
  readonly byteCountThreshold?: number;
  readonly wincLimitation?: bigint;
  readonly limitIntervalMs?: number;
  readonly code?: string;
  readonly targetGroup?: TargetGroup;
  readonly maxUses?: number;
  readonly minimumPayment?: number;
  readonly maximumDiscount?: number;
}

/** What is wrong with a new row, as a sentence. */
export class InvalidRow extends Error {
  override readonly name = 'InvalidRow';
}

const DAY_MS = 86_400_000;

const storedRow = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  name: Type.String(),
  description: Type.String(),
  operator: Type.String(),
  magnitude: Type.String(),
  priority: Type.Integer(),
  starts_at: Type.Integer(),
  ends_at: integerOrNull,
  exclusivity: textOrNull,
  byte_threshold: Type.Integer(),
  winc_limit: amountText,
  limit_interval_ms: Type.Integer(),
  code: textOrNull,
  target_group: textOrNull,
  max_uses: Type.Integer(),
  minimum_payment: Type.Integer(),
  maximum_discount: Type.Integer(),
});
const readStored = rowReader('a row of the price catalogue', storedRow);

export async function addRow(sql: SqlExecutor, row: NewRow, now: number): Promise<string> {
  check(row);
  const columns = {
    id: randomUUID(),
    kind: row.kind,
    name: row.name,
    description: row.description ?? '',
    operator: row.operator,
    magnitude: row.magnitude,
    priority: row.priority ?? 500,
    starts_at: row.startsAt ?? now,
    ends_at: row.endsAt ?? null,
    exclusivity: row.kind === 'payment' ? (row.exclusivity ?? 'exclusive') : null,
    byte_threshold: row.byteCountThreshold ?? 0,
    winc_limit: (row.wincLimitation ?? 0n).toString(),
    limit_interval_ms: row.limitIntervalMs ?? DAY_MS,
    code: row.code ?? null,
    target_group: row.kind === 'promo' ? (row.targetGroup ?? 'all') : null,
    max_uses: row.maxUses ?? 0,
    minimum_payment: row.minimumPayment ?? 0,
    maximum_discount: row.maximumDiscount ?? 0,
  };
  await sql.run(`INSERT INTO pricing_catalogue ${insertion(columns)}`, ...Object.values(columns));
  return columns.id;
}

/** Ends a row or every row of a promo code; answers how many were open. */
export async function endRows(sql: SqlExecutor, idOrCode: string, now: number): Promise<number> {
  return sql.run(
    'UPDATE pricing_catalogue SET ends_at = ? WHERE (id = ? OR code = ?) AND (ends_at IS NULL OR ends_at > ?)',
    now,
    idOrCode,
    idOrCode,
    now,
  );
}

export async function allRows(sql: SqlExecutor): Promise<CatalogueRow[]> {
  const rows = await sql.all('SELECT * FROM pricing_catalogue ORDER BY priority, starts_at, id');
  return rows.map(readRow);
}

/** How often each row was used, by its id; only what was paid counts. */
export async function usesOfRows(sql: SqlExecutor): Promise<ReadonlyMap<string, number>> {
  const rows = await sql.all<{ catalogue_id: string; uses: number }>(
    "SELECT catalogue_id, COUNT(*) AS uses FROM pricing_promo_uses WHERE state = 'used' GROUP BY catalogue_id",
  );
  return new Map(rows.map(({ catalogue_id: id, uses }) => [id, uses]));
}

const codePattern = /^[A-Za-z0-9_.-]{1,64}$/;

/** The row of a code that counts: of those begun, the latest. What cannot be a code is not searched for. */
export async function promoRow(sql: SqlExecutor, code: string, now: number): Promise<PromoCode | undefined> {
  if (!codePattern.test(code)) return undefined;
  const row = await sql.get(
    `SELECT * FROM pricing_catalogue WHERE code = ? AND kind = 'promo' AND starts_at <= ?
     ORDER BY starts_at DESC, id LIMIT 1`,
    code,
    now,
  );
  return asPromo(row);
}

/** Locked, so that its uses are counted by one transaction at a time. */
export async function lockPromo(tx: SqlExecutor, id: string): Promise<PromoCode | undefined> {
  return asPromo(await tx.get(`SELECT * FROM pricing_catalogue WHERE id = ? ${tx.forUpdate}`, id));
}

function asPromo(row: unknown): PromoCode | undefined {
  const promo = row === undefined ? undefined : readRow(row);
  return promo?.kind === 'promo' ? promo : undefined;
}

export const isActive = (row: Timed, now: number): boolean =>
  row.startsAt <= now && (row.endsAt === undefined || now < row.endsAt);

function readRow(stored: unknown): CatalogueRow {
  const row = readStored(stored);
  const magnitude = parseDecimal(row.magnitude);
  if (magnitude === undefined) throw new Error(`catalogue row ${row.id} has magnitude ${row.magnitude}`);
  const common = {
    id: row.id,
    name: row.name,
    description: row.description,
    operator: row.operator === 'add' ? ('add' as const) : ('multiply' as const),
    magnitude,
    magnitudeText: row.magnitude,
    priority: row.priority,
    startsAt: row.starts_at,
    endsAt: row.ends_at ?? undefined,
  };
  if (row.kind === 'upload') {
    return {
      ...common,
      kind: 'upload',
      byteCountThreshold: row.byte_threshold,
      wincLimitation: BigInt(row.winc_limit),
      limitIntervalMs: row.limit_interval_ms,
    };
  }
  if (row.kind === 'payment')
    return { ...common, kind: 'payment', exclusivity: exclusivityOf(row.exclusivity) };
  return {
    ...common,
    kind: 'promo',
    promoCode: row.code ?? '',
    targetGroup: row.target_group === 'new' || row.target_group === 'existing' ? row.target_group : 'all',
    maxUses: row.max_uses,
    minimumPayment: row.minimum_payment,
    maximumDiscount: BigInt(row.maximum_discount),
  };
}

const exclusivityOf = (text: string | null): Exclusivity =>
  text === 'inclusive' || text === 'inclusive_kyve' ? text : 'exclusive';

function check(row: NewRow): void {
  const magnitude = parseDecimal(row.magnitude);
  if (magnitude === undefined || row.magnitude.length > 40)
    throw new InvalidRow('the magnitude must be a decimal number');
  if (row.operator === 'multiply' && !isPositive(magnitude) && magnitude.digits !== 0n) {
    throw new InvalidRow('a multiplier must not be negative');
  }
  const inclusive =
    row.kind === 'payment' && row.exclusivity !== undefined && row.exclusivity !== 'exclusive';
  if (row.operator === 'multiply' && magnitude.digits === 0n && inclusive) {
    throw new InvalidRow('a fee that leaves nothing is not a fee');
  }
  if (row.kind !== 'payment' && row.exclusivity !== undefined) {
    throw new InvalidRow('only a payment adjustment is inclusive or exclusive');
  }
  if (row.name === '' || row.name.length > 100)
    throw new InvalidRow('the name must have 1 to 100 characters');
  if (row.kind === 'promo' && !codePattern.test(row.code ?? '')) {
    throw new InvalidRow('a promo code has 1 to 64 letters, digits, dots, dashes or underscores');
  }
  if (row.kind !== 'promo' && row.code !== undefined) throw new InvalidRow('only a promo has a code');
  if (row.endsAt !== undefined && row.startsAt !== undefined && row.endsAt <= row.startsAt) {
    throw new InvalidRow('it must end after it starts');
  }
  const amounts = [row.byteCountThreshold, row.maxUses, row.minimumPayment, row.maximumDiscount];
  if (amounts.some((amount) => amount !== undefined && !(Number.isSafeInteger(amount) && amount >= 0))) {
    throw new InvalidRow('thresholds, limits and amounts are whole numbers of at least 0');
  }
  if ((row.wincLimitation ?? 0n) < 0n) throw new InvalidRow('the winc limitation must not be negative');
}
