/**
 * What is to be announced, as rows. A new item has `announce_at`. A gateway that was offered it and did not take it gets
 * a row of its own, so that the others need not wait. `told` of an item has a bit for each gateway that took it.
 */
import { StartupError } from '../../kernel/errors.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';
import type { AnnouncedRow } from './announcement.ts';

/** The gateway of this service, wherever it listens. */
export const ownNumber = 0;
/** As many bits as an integer has that every engine and this program can hold. */
const mostNumbers = 52;

export const bitOf = (number: number): number => 2 ** number;

/** The number of a gateway, by which items remember it; one that is new here gets the next. */
export async function numberGateway(sql: Sql, url: string): Promise<number> {
  for (;;) {
    const known = await sql.get<{ number: number }>('SELECT number FROM upload_gateways WHERE url = ?', url);
    if (known !== undefined) return known.number;
    const row = await sql.get<{ last: number | null }>('SELECT MAX(number) AS last FROM upload_gateways');
    const number = (row?.last ?? ownNumber) + 1;
    if (number >= mostNumbers)
      throw new StartupError(
        `ANNOUNCE_GATEWAYS: ${mostNumbers - 1} gateways were told so far, and no more can be`,
      );
    // Another process that starts now may take the number.
    await sql.run(
      'INSERT INTO upload_gateways (number, url, dropped) VALUES (?, ?, 0) ON CONFLICT DO NOTHING',
      number,
      url,
    );
  }
}

/** Those who are not told any more. */
export async function forgetOthers(sql: Sql, numbers: readonly number[]): Promise<void> {
  const rows = await sql.all<{ gateway: number }>('SELECT DISTINCT gateway FROM upload_announcements');
  for (const { gateway } of rows) {
    if (!numbers.includes(gateway))
      await sql.run('DELETE FROM upload_announcements WHERE gateway = ?', gateway);
  }
}

const columns = 'i.id, i.size, i.payload_start, i.content_type, i.received_at, h.bytes';

/** Items that no gateway was offered yet, the oldest first. */
export function newItems(sql: SqlExecutor, now: number, limit: number): Promise<AnnouncedRow[]> {
  return sql.all<AnnouncedRow>(
    `SELECT ${columns} FROM upload_items i LEFT JOIN upload_heads h ON h.id = i.id
     WHERE i.announce_at IS NOT NULL AND i.announce_at <= ? ORDER BY i.announce_at LIMIT ?`,
    now,
    limit,
  );
}

/** What a gateway did not take, the newest first: what is older will sooner be found on the chain. */
export function waitingFor(sql: SqlExecutor, gateway: number, limit: number): Promise<AnnouncedRow[]> {
  return sql.all<AnnouncedRow>(
    `SELECT ${columns} FROM upload_announcements a JOIN upload_items i ON i.id = a.id
       LEFT JOIN upload_heads h ON h.id = a.id
     WHERE a.gateway = ? ORDER BY a.received_at DESC, a.id DESC LIMIT ?`,
    gateway,
    limit,
  );
}

export async function countWaiting(sql: SqlExecutor, gateway: number): Promise<number> {
  const row = await sql.get('SELECT COUNT(*) AS n FROM upload_announcements WHERE gateway = ?', gateway);
  return readInteger(row?.n);
}

/** Everyone changes rows in the same order, so that none waits for another in a circle. */
const byId = (one: { readonly id: string }, other: { readonly id: string }): number =>
  one.id < other.id ? -1 : 1;

/** All gateways were offered these: who took which, and who is still to be told. */
export function markOffered(
  sql: Sql,
  rows: readonly { readonly id: string; readonly received_at: number; readonly told: number }[],
  waiting: readonly number[],
): Promise<void> {
  return sql.transaction(async (tx) => {
    for (const { id, received_at, told } of rows.toSorted(byId)) {
      await tx.run(
        'UPDATE upload_items SET announce_at = NULL, told = COALESCE(told, 0) | ? WHERE id = ?',
        told,
        id,
      );
      for (const gateway of waiting) {
        await tx.run(
          `INSERT INTO upload_announcements (id, gateway, received_at) VALUES (?, ?, ?)
           ON CONFLICT (id, gateway) DO NOTHING`,
          id,
          gateway,
          received_at,
        );
      }
    }
  });
}

/** A gateway has these, or will never take them. */
export function markTold(
  sql: Sql,
  gateway: number,
  rows: readonly { readonly id: string; readonly isTold: boolean }[],
): Promise<void> {
  return sql.transaction(async (tx) => {
    for (const { id, isTold } of rows.toSorted(byId)) {
      await tx.run('DELETE FROM upload_announcements WHERE id = ? AND gateway = ?', id, gateway);
      if (isTold)
        await tx.run('UPDATE upload_items SET told = COALESCE(told, 0) | ? WHERE id = ?', bitOf(gateway), id);
    }
  });
}

/** Keeps the newest that wait for a gateway; answers how many were dropped. */
export function dropOldest(sql: Sql, gateway: number, kept: number): Promise<number> {
  return sql.transaction(async (tx) => {
    const edge = await tx.get<{ received_at: number; id: string }>(
      `SELECT received_at, id FROM upload_announcements WHERE gateway = ?
       ORDER BY received_at DESC, id DESC LIMIT 1 OFFSET ?`,
      gateway,
      kept,
    );
    if (edge === undefined) return 0;
    const dropped = await tx.run(
      'DELETE FROM upload_announcements WHERE gateway = ? AND (received_at, id) <= (?, ?)',
      gateway,
      edge.received_at,
      edge.id,
    );
    await tx.run('UPDATE upload_gateways SET dropped = dropped + ? WHERE number = ?', dropped, gateway);
    return dropped;
  });
}

/** How many announcements each gateway has missed for good, by its number. */
export async function droppedByGateway(sql: SqlExecutor): Promise<ReadonlyMap<number, number>> {
  const rows = await sql.all<{ number: number; dropped: number }>(
    'SELECT number, dropped FROM upload_gateways',
  );
  return new Map(rows.map(({ number, dropped }) => [number, dropped]));
}

/** The gateways that an item still waits for, by their numbers. */
export async function waitingGateways(sql: SqlExecutor, id: string): Promise<readonly number[]> {
  const rows = await sql.all<{ gateway: number }>(
    'SELECT gateway FROM upload_announcements WHERE id = ? ORDER BY gateway',
    id,
  );
  return rows.map(({ gateway }) => gateway);
}

interface Waiting {
  readonly id: string;
  readonly receivedAt: number;
  readonly gateways: readonly string[];
}

/** The oldest items that some gateway was not told of, with the hosts of those gateways. */
export async function oldestWaiting(
  sql: SqlExecutor,
  gateways: readonly { readonly number: number; readonly host: string }[],
  limit: number,
): Promise<Waiting[]> {
  const found = new Map<string, Waiting>();
  const unoffered = await sql.all<{ id: string; received_at: number }>(
    `SELECT id, received_at FROM upload_items WHERE announce_at IS NOT NULL ORDER BY announce_at LIMIT ?`,
    limit,
  );
  for (const { id, received_at } of unoffered) found.set(id, { id, receivedAt: received_at, gateways: [] });
  for (const { number, host } of gateways) {
    const rows = await sql.all<{ id: string; received_at: number }>(
      `SELECT id, received_at FROM upload_announcements WHERE gateway = ? ORDER BY received_at, id LIMIT ?`,
      number,
      limit,
    );
    for (const { id, received_at } of rows) {
      found.set(id, { id, receivedAt: received_at, gateways: [...(found.get(id)?.gateways ?? []), host] });
    }
  }
  return [...found.values()]
    .sort((one, other) => one.receivedAt - other.receivedAt || (one.id < other.id ? -1 : 1))
    .slice(0, limit);
}
