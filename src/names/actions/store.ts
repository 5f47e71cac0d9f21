/** Actions as they are kept. Every step is a guarded update: who comes second changes nothing. */
import { type Static, Type } from 'typebox';
import type { ArnsRecord } from '../../formats/solana/accounts-arns.ts';
import { assignments, type Columns, given, insertion, selection } from '../../storage/sql/columns.ts';
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
import { canonicalUuid } from '../../wallets/request-signature.ts';
import type { SignedTransaction } from '../chain/plan.ts';
import { type ActionRequest, actionRequest, nameType, solanaAddress } from '../requests/action.ts';

/**
 * reserved   paid for, nothing done
 * sending    the service's own transaction is stored and on its way
 * awaiting   the owner has a transaction to sign
 * signed     the owner's transaction is on its way
 * spawned    a bought name's token exists, the name is being registered
 */
const openStatuses = ['reserved', 'sending', 'awaiting', 'signed', 'spawned'] as const;
const finalStatuses = ['completed', 'expired', 'failed'] as const;
type OpenStatus = (typeof openStatuses)[number];
type ActionStatus = OpenStatus | (typeof finalStatuses)[number];

const beforeState = Type.Object({
  ant: solanaAddress,
  type: nameType,
  end: integerOrNull,
  undernameLimit: Type.Integer(),
});
/** What a purchase found before it acted: it tells its effect from another's. */
export type BeforeState = Static<typeof beforeState>;
export const beforeOf = ({ ant, type, end, undernameLimit }: ArnsRecord): BeforeState => ({
  ant,
  type,
  end: end ?? null,
  undernameLimit,
});
const readBefore = jsonReader('what stood before a name purchase', beforeState);

export const addressOrNull = Type.Union([solanaAddress, Type.Null()]);

const storedAction = Type.Object({
  nonce: Type.String(),
  payer: Type.String(),
  payerType: Type.String(),
  payerNonce: Type.String(),
  request: Type.String(),
  antId: addressOrNull,
  winc: amountText,
  mtoken: amountText,
  tokenWinc: amountText,
  keptWinc: amountText,
  status: Type.Enum([...openStatuses, ...finalStatuses]),
  beforeState: textOrNull,
  ownerSigns: flag,
  ownerFirst: flag,
  prepared: bytesOrNull,
  signature: textOrNull,
  lastValidBlockHeight: integerOrNull,
  serviceWire: bytesOrNull,
  serviceSignature: textOrNull,
  serviceLastValid: integerOrNull,
  /** Unix milliseconds. */
  expiresAt: Type.Integer(),
  messageId: textOrNull,
  failedReason: textOrNull,
  failedAt: integerOrNull,
  createdAt: Type.Integer(),
});
const selected = selection(Object.keys(storedAction.properties));
const readStored = rowReader('a name action', storedAction);
const readRequest = jsonReader('the request of a name action', actionRequest);

type ReadHere = 'request' | 'winc' | 'mtoken' | 'tokenWinc' | 'keptWinc' | 'ownerSigns' | 'ownerFirst';
export interface Action extends Readonly<Omit<Static<typeof storedAction>, ReadHere>> {
  readonly request: ActionRequest;
  readonly winc: bigint;
  readonly mtoken: bigint;
  /** The part of `winc` that pays for making a token. */
  readonly tokenWinc: bigint;
  /** The part of `winc` that was spent on the chain and does not come back, whatever becomes of the rest. */
  readonly keptWinc: bigint;
  readonly before: BeforeState | undefined;
  /** Whether it will wait for its owner once it is prepared. */
  readonly ownerSigns: boolean;
  /** Whether it is handed out without the service's signatures, which nobody has before the owner signed. */
  readonly ownerFirst: boolean;
  /** For the owner, whose slot is empty until it is signed. */
  readonly owned: SignedTransaction | undefined;
  /** The service's own. */
  readonly service: SignedTransaction | undefined;
}

/** A nonce is the same in either letter case; before that was so, one was stored as it came. */
export async function findAction(sql: SqlExecutor, nonce: string): Promise<Action | undefined> {
  const uuid = canonicalUuid(nonce) ?? nonce;
  const rows = await sql.all(`SELECT ${selected} FROM arns_action WHERE nonce IN (?, ?)`, nonce, uuid);
  const row = rows.find((found) => found.nonce === nonce) ?? rows[0];
  return row && toAction(row);
}

export async function findByPayerNonce(
  sql: SqlExecutor,
  payer: string,
  payerNonce: string,
): Promise<Action | undefined> {
  const where = 'payer = ? AND payer_nonce = ?';
  const row = await sql.get(`SELECT ${selected} FROM arns_action WHERE ${where}`, payer, payerNonce);
  return row && toAction(row);
}

/**
 * Actions that are not finished and were not changed since, a page at a time in order of nonce. What was changed later than
 * `latest` was changed by a clock that was ahead: it would be left alone for as long as that was.
 */
export async function openActions(
  sql: SqlExecutor,
  unchanged: { readonly since: number; readonly latest: number },
  after: string,
  limit: number,
): Promise<Action[]> {
  const rows = await sql.all(
    `SELECT ${selected} FROM arns_action
      WHERE status IN ('reserved', 'sending', 'awaiting', 'signed', 'spawned')
        AND (updated_at <= ? OR updated_at > ?) AND nonce > ?
      ORDER BY nonce LIMIT ?`,
    unchanged.since,
    unchanged.latest,
    after,
    limit,
  );
  return rows.map(toAction);
}

/**
 * Actions that wait for a signature, or will in a moment. Whom they are for does not count: anybody may ask on an
 * owner's behalf. Nobody else counts or adds an action of this payer until the transaction ends.
 */
export async function awaitingCountIn(tx: SqlExecutor, payer: string): Promise<number> {
  await tx.run(
    'INSERT INTO arns_payer (payer) VALUES (?) ON CONFLICT (payer) DO UPDATE SET payer = excluded.payer',
    payer,
  );
  const row = await tx.get<{ n: number }>(
    `SELECT COUNT(*) AS n FROM arns_action
      WHERE payer = ? AND (status = 'awaiting' OR (status = 'reserved' AND owner_signs = 1))`,
    payer,
  );
  return row?.n ?? 0;
}

/** One that is paid for, with nothing done yet. */
export async function insertAction(
  tx: SqlExecutor,
  request: ActionRequest,
  columns: Columns,
  at: number,
): Promise<void> {
  const row = {
    ...columns,
    action: request.action,
    request: JSON.stringify(request),
    name: 'name' in request ? request.name : null,
    owner: 'owner' in request ? request.owner : null,
    status: 'reserved',
    created_at: at,
    updated_at: at,
  };
  await tx.run(`INSERT INTO arns_action ${insertion(row)}`, ...Object.values(row));
}

/** An action as it was when somebody decided what becomes of it. */
export type Judged = Pick<Action, 'nonce' | 'status' | 'owned' | 'service'>;

/**
 * Moves an action on if it still stands as it was judged, with the same transactions; answers whether it did. What was sent
 * or handed out meanwhile is not ended by what was true before.
 */
export async function advance(
  sql: SqlExecutor,
  { nonce, status, owned, service }: Judged,
  to: ActionStatus,
  changes: Changes,
): Promise<boolean> {
  if (!isOpen(status)) return false;
  const columns = columnsOf(to, changes);
  const changed = await sql.run(
    `UPDATE arns_action SET ${assignments(columns)}
      WHERE nonce = ? AND status = ? AND COALESCE(signature, '') = ? AND COALESCE(service_signature, '') = ?`,
    ...Object.values(columns),
    ...[nonce, status, owned?.signature ?? '', service?.signature ?? ''],
  );
  return changed === 1;
}

/** Its effect is on the chain, wherever it stood; answers whether it was open. */
export async function advanceToCompleted(
  sql: SqlExecutor,
  nonce: string,
  changes: Changes,
): Promise<boolean> {
  const columns = columnsOf('completed', changes);
  const changed = await sql.run(
    `UPDATE arns_action SET ${assignments(columns)}
      WHERE nonce = ? AND status IN (${openStatuses.map(() => '?').join(', ')})`,
    ...Object.values(columns),
    nonce,
    ...openStatuses,
  );
  return changed === 1;
}

const isOpen = (status: ActionStatus): status is OpenStatus => openStatuses.some((open) => open === status);

interface Changes {
  readonly at: number;
  readonly antId?: string;
  readonly owned?: SignedTransaction;
  readonly service?: SignedTransaction;
  readonly messageId?: string;
  readonly failedReason?: string;
  readonly keptWinc?: bigint;
  readonly ownerFirst?: boolean;
}

function columnsOf(to: ActionStatus, changes: Changes): Columns {
  const { at, owned, service } = changes;
  return given({
    status: to,
    updated_at: at,
    ant_id: changes.antId,
    message_id: changes.messageId,
    prepared: owned?.wire,
    signature: owned?.signature,
    last_valid_block_height: owned?.lastValidBlockHeight,
    ...serviceColumns(service),
    failed_reason: changes.failedReason,
    failed_at: to === 'failed' || to === 'expired' ? at : undefined,
    kept_winc: changes.keptWinc?.toString(),
    owner_first: changes.ownerFirst === undefined ? undefined : Number(changes.ownerFirst),
  });
}

/** Of actions and card purchases alike. */
export const serviceColumns = (service: SignedTransaction | undefined) => ({
  service_wire: service?.wire,
  service_signature: service?.signature,
  service_last_valid: service?.lastValidBlockHeight,
});

/** What does not come back of an action as it stands in this transaction. */
export async function keptWincOf(tx: SqlExecutor, nonce: string): Promise<bigint> {
  const row = await tx.get<{ kept_winc: string }>('SELECT kept_winc FROM arns_action WHERE nonce = ?', nonce);
  return BigInt(row?.kept_winc ?? 0);
}

function toAction(stored: unknown): Action {
  const row = readStored(stored);
  return {
    ...row,
    request: readRequest(row.request),
    winc: BigInt(row.winc),
    mtoken: BigInt(row.mtoken),
    tokenWinc: BigInt(row.tokenWinc),
    keptWinc: BigInt(row.keptWinc),
    before: toBefore(row.beforeState),
    ownerSigns: row.ownerSigns === 1,
    ownerFirst: row.ownerFirst === 1,
    owned: toTransaction(row.prepared, row.signature, row.lastValidBlockHeight),
    service: toTransaction(row.serviceWire, row.serviceSignature, row.serviceLastValid),
  };
}

export function toBefore(text: string | null): BeforeState | undefined {
  return text === null ? undefined : readBefore(text);
}

export function toTransaction(
  wire: Buffer | null,
  signature: string | null,
  lastValidBlockHeight: number | null,
): SignedTransaction | undefined {
  if (wire === null || signature === null || lastValidBlockHeight === null) return undefined;
  return { wire, signature, lastValidBlockHeight };
}
