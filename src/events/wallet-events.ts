/**
 * Events of a wallet: what happened to its credits, uploads and names. Each row of the log is one wallet's and has its
 * events as JSON, so that it can still be told when what it is about has changed or gone. The room that changes something
 * appends here in its own transaction; the payment surface tells it to the wallet that signs.
 */
import { isRecord, tryParseJson } from '../formats/json.ts';
import { type WalletEventType, walletEventTypes } from '../formats/wallet-event-types.ts';
import type { SqlExecutor } from '../storage/sql/sql.ts';
import { appendEvents, type LoggedEvent, type NewEvent } from './event-log.ts';
import type { FeedEvent } from './feed.ts';

export interface WalletEvent {
  readonly type: WalletEventType;
  /** Whose it is, as the ledger spells it. */
  readonly wallet: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** One event for each of these, with its `id`: many items that had the same happen to them are one row. */
  readonly ids?: readonly string[];
}

/** A row stays small enough to be read with a thousand others. */
const idsInRow = 500;

/** Appends them to the log in the transaction of the change. */
export function tellWallets(tx: SqlExecutor, events: readonly WalletEvent[], nowMs: number): Promise<void> {
  return appendEvents(tx, events.flatMap(rowsOf), nowMs);
}

function rowsOf({ type, wallet, data, ids }: WalletEvent): NewEvent[] {
  const row = (content: object): NewEvent => ({
    topic: type,
    subject: wallet,
    body: Buffer.from(JSON.stringify(content)),
  });
  if (ids === undefined) return [row({ data })];
  const rows: NewEvent[] = [];
  for (let from = 0; from < ids.length; from += idsInRow) {
    rows.push(row({ data, ids: ids.slice(from, from + idsInRow) }));
  }
  return rows;
}

/** The events of a row; none where it is not a wallet's. */
export function readWalletEvents({ topic, body, madeAt }: LoggedEvent): FeedEvent[] {
  const type = walletEventTypes.find((known) => known === topic);
  const content = tryParseJson(body.toString('utf8'));
  if (type === undefined || !isRecord(content) || !isRecord(content.data)) return [];
  const { data, ids } = content;
  if (!Array.isArray(ids)) return [{ index: 0, type, time: madeAt, data }];
  return ids.map((id: unknown, index) => ({ index, type, time: madeAt, data: { id, ...data } }));
}
