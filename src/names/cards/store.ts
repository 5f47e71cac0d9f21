/** Names paid by card, from the payment to the registered name. Before the payment there is only the card quote. */
import { type Static, Type } from 'typebox';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import type { CardQuote } from '../../payments/card/card.ts';
import { assignments, given, insertion, selection } from '../../storage/sql/columns.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import {
  amountText,
  bytesOrNull,
  integerOrNull,
  jsonReader,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import {
  addressOrNull,
  type BeforeState,
  serviceColumns,
  toBefore,
  toTransaction,
} from '../actions/store.ts';
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
const selected = selection(Object.keys(storedPurchase.properties));
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
  { id, address, addressType }: CardQuote,
  promised: Promised,
  at: number,
  expiresAt: number,
): Promise<void> {
  const row = {
    nonce: id,
    address,
    address_type: addressType,
    purchase: promised.purchase.action,
    intent: promised.intent,
    name: promised.purchase.name,
    process_id: promised.processId ?? null,
    quote: writePromised(promised),
    mtoken: promised.mtoken.toString(),
    winc: promised.winc.toString(),
    excess_winc: promised.excessWinc.toString(),
    status: 'PENDING',
    stage: 'paid',
    card_refunded: 0,
    expires_at: expiresAt,
    created_at: at,
    updated_at: at,
  };
  const statement = `INSERT INTO arns_purchase ${insertion(row)} ON CONFLICT (nonce) DO NOTHING`;
  await tx.run(statement, ...Object.values(row));
}

export async function readPurchase(sql: SqlExecutor, nonce: string): Promise<PaidPurchase | undefined> {
  const row = await sql.get(`SELECT ${selected} FROM arns_purchase WHERE nonce = ?`, nonce);
  return row && toPurchase(row);
}

export async function openPurchases(sql: Sql, limit: number): Promise<PaidPurchase[]> {
  const rows = await sql.all(
    `SELECT ${selected} FROM arns_purchase WHERE status = 'PENDING' ORDER BY updated_at LIMIT ?`,
    limit,
  );
  return rows.map(toPurchase);
}

/** Moves a purchase on if it still stands as it was judged, with the same transaction; answers whether it did. */
export async function move(
  sql: SqlExecutor,
  judged: Pick<PaidPurchase, 'nonce' | 'stage' | 'service'>,
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
  const { at, status, before } = changes;
  const columns = given({
    stage: to,
    updated_at: at,
    status,
    ant_id: changes.antId,
    before_state: before && JSON.stringify(before),
    ...serviceColumns(changes.service),
    message_id: changes.messageId,
    failed_reason: changes.failedReason,
    failed_at: status === 'FAILED' ? at : undefined,
    list_page: changes.listPage,
  });
  const changed = await sql.run(
    `UPDATE arns_purchase SET ${assignments(columns)}
      WHERE nonce = ? AND stage = ? AND status = 'PENDING' AND COALESCE(service_signature, '') = ?`,
    ...Object.values(columns),
    ...[judged.nonce, judged.stage, judged.service?.signature ?? ''],
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
