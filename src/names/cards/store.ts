/** Names paid by card, from the payment to the registered name. Before the payment there is only the card quote. */
import { type Static, Type } from 'typebox';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { selection } from '../../storage/sql/columns.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import {
  amountText,
  bytesOrNull,
  integerOrNull,
  jsonReader,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import { addressOrNull, type BeforeState, toBefore, toTransaction } from '../actions/store.ts';
import type { SignedTransaction } from '../chain/plan.ts';
import { type Purchase, purchase } from '../requests/action.ts';

/**
 * paid      nothing done yet
 * spawning  the token's transaction is on its way; `antId` is known
 * spawned   there is a token for the name
 * paying    the registry is being paid
 * bought    the name is the buyer's; from here on nothing is refunded
 * handing   the token is on its way to the buyer's own wallet
 */
const stages = ['paid', 'spawning', 'spawned', 'paying', 'bought', 'handing', 'done'] as const;
export type Stage = (typeof stages)[number];
const statuses = ['PENDING', 'CONFIRMED', 'FAILED'] as const;
type PurchaseStatus = (typeof statuses)[number];

/** What the quote promised, kept with the card payment and with the purchase. */
export interface Promised {
  readonly purchase: Purchase;
  readonly intent: string;
  readonly processId: SolanaAddress | undefined;
  readonly mtoken: bigint;
  readonly winc: bigint;
  readonly excessWinc: bigint;
  readonly usdArRate: number;
  readonly usdTokenRate: number;
}

const readQuote = jsonReader(
  'the quote of a name',
  Type.Object({
    purchase,
    intent: Type.String(),
    processId: addressOrNull,
    mtoken: amountText,
    winc: amountText,
    excessWinc: amountText,
    usdArRate: Type.Number(),
    usdTokenRate: Type.Number(),
  }),
);

const storedPurchase = Type.Object({
  /** The card quote's id. */
  nonce: Type.String(),
  address: Type.String(),
  addressType: Type.String(),
  quote: Type.String(),
  status: Type.Enum(statuses),
  stage: Type.Enum(stages),
  antId: addressOrNull,
  beforeState: textOrNull,
  serviceWire: bytesOrNull,
  serviceSignature: textOrNull,
  serviceLastValid: integerOrNull,
  messageId: textOrNull,
  failedReason: textOrNull,
  failedAt: integerOrNull,
  expiresAt: Type.Integer(),
});
const columns = selection(Object.keys(storedPurchase.properties));
const readStored = rowReader('a name purchase', storedPurchase);

export interface PaidPurchase extends Promised, Readonly<Static<typeof storedPurchase>> {
  readonly before: BeforeState | undefined;
  readonly service: SignedTransaction | undefined;
}

/** Amounts as text: the JSON travels through the card quote's details too. */
export function writePromised(promised: Promised): string {
  const { mtoken, winc, excessWinc, processId, ...rest } = promised;
  return JSON.stringify({
    ...rest,
    processId: processId ?? null,
    mtoken: mtoken.toString(),
    winc: winc.toString(),
    excessWinc: excessWinc.toString(),
  });
}

export function readPromised(text: string): Promised {
  const quote = readQuote(text);
  return {
    ...quote,
    processId: quote.processId ?? undefined,
    mtoken: BigInt(quote.mtoken),
    winc: BigInt(quote.winc),
    excessWinc: BigInt(quote.excessWinc),
  };
}

export async function insertPurchase(
  tx: SqlExecutor,
  purchase: {
    nonce: string;
    address: string;
    addressType: string;
    promised: Promised;
    at: number;
    expiresAt: number;
  },
): Promise<void> {
  const { promised, at } = purchase;
  await tx.run(
    `INSERT INTO arns_purchase (nonce, address, address_type, purchase, intent, name, process_id, quote, mtoken, winc,
       excess_winc, status, stage, card_refunded, expires_at, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'PENDING', 'paid', 0, ?, ?, ?) ON CONFLICT (nonce) DO NOTHING`,
    purchase.nonce,
    purchase.address,
    purchase.addressType,
    promised.purchase.action,
    promised.intent,
    promised.purchase.name,
    promised.processId ?? null,
    writePromised(promised),
    promised.mtoken.toString(),
    promised.winc.toString(),
    promised.excessWinc.toString(),
    purchase.expiresAt,
    at,
    at,
  );
}

export async function readPurchase(sql: SqlExecutor, nonce: string): Promise<PaidPurchase | undefined> {
  const row = await sql.get(`SELECT ${columns} FROM arns_purchase WHERE nonce = ?`, nonce);
  return row && toPurchase(row);
}

export async function openPurchases(sql: Sql, limit: number): Promise<PaidPurchase[]> {
  const rows = await sql.all(
    `SELECT ${columns} FROM arns_purchase WHERE status = 'PENDING' ORDER BY updated_at LIMIT ?`,
    limit,
  );
  return rows.map(toPurchase);
}

/** Moves a purchase on if it still stands where it stood; answers whether it did. */
export async function move(
  sql: SqlExecutor,
  nonce: string,
  from: Stage,
  to: Stage,
  changes: {
    readonly at: number;
    readonly status?: PurchaseStatus;
    readonly antId?: string;
    readonly before?: BeforeState;
    readonly service?: SignedTransaction;
    readonly messageId?: string;
    readonly failedReason?: string;
    /** The page of the service's list that keeps a place for the token. */
    readonly listPage?: number;
  },
): Promise<boolean> {
  const changed = await sql.run(
    `UPDATE arns_purchase SET stage = ?, updated_at = ?, status = COALESCE(?, status),
       ant_id = COALESCE(?, ant_id), before_state = COALESCE(?, before_state),
       service_wire = COALESCE(?, service_wire), service_signature = COALESCE(?, service_signature),
       service_last_valid = COALESCE(?, service_last_valid), message_id = COALESCE(?, message_id),
       failed_reason = COALESCE(?, failed_reason), failed_at = COALESCE(?, failed_at),
       list_page = COALESCE(?, list_page)
     WHERE nonce = ? AND stage = ? AND status = 'PENDING'`,
    to,
    changes.at,
    changes.status ?? null,
    changes.antId ?? null,
    changes.before === undefined ? null : JSON.stringify(changes.before),
    changes.service?.wire ?? null,
    changes.service?.signature ?? null,
    changes.service?.lastValidBlockHeight ?? null,
    changes.messageId ?? null,
    changes.failedReason ?? null,
    changes.status === 'FAILED' ? changes.at : null,
    changes.listPage ?? null,
    nonce,
    from,
  );
  return changed === 1;
}

function toPurchase(stored: unknown): PaidPurchase {
  const row = readStored(stored);
  return {
    ...readPromised(row.quote),
    ...row,
    before: toBefore(row.beforeState),
    service: toTransaction(row.serviceWire, row.serviceSignature, row.serviceLastValid),
  };
}
