/** Webhooks and their dead letters as they are stored. */
import { randomBytes } from 'node:crypto';
import { type StaticEncode, Type } from 'typebox';
import { assignments, type Columns, insertion } from '../../storage/sql/columns.ts';
import {
  columnList,
  columnsOf,
  fieldsReader,
  optionalInteger,
  optionalText,
} from '../../storage/sql/fields.ts';
import { clocks } from '../../storage/sql/lease.ts';
import type { Row, Sql, SqlExecutor, SqlValue } from '../../storage/sql/sql.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';

const hookFields = {
  id: Type.String(),
  /** The wallet whose hook it is; empty: the operator's. */
  subject: Type.String(),
  url: Type.String(),
  description: Type.String(),
  /** JSON, as its owner wrote it. */
  query: Type.String(),
  secret: Type.String(),
  /** The one before, while it is valid. */
  oldSecret: optionalText,
  oldSecretUntil: optionalInteger,
  state: Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('ended')]),
  version: Type.Integer(),
  /** Everything up to here was taken by the receiver, became a dead letter or did not match. */
  cursor: Type.String(),
  /** 1: a ping is sent before anything else. */
  ping: Type.Integer(),
  message: optionalText,
  messageTo: optionalText,
  messageAt: optionalInteger,
  failures: Type.Integer(),
  failingSince: optionalInteger,
  nextTryAt: Type.Integer(),
  lastTryAt: optionalInteger,
  lastTakenAt: optionalInteger,
  lastStatus: optionalInteger,
  lastError: optionalText,
  delivered: Type.Integer(),
  createdAt: Type.Integer(),
  endedAt: optionalInteger,
};
const hookSchema = Type.Object(hookFields);
export type Hook = StaticEncode<typeof hookSchema>;
const readHook = fieldsReader('a hook', hookSchema);
const hookColumns = columnList(hookFields);

const letterFields = {
  id: Type.String(),
  hook: Type.String(),
  body: Type.String(),
  events: Type.Integer(),
  status: optionalInteger,
  error: Type.String(),
  madeAt: Type.Integer(),
  deadAt: Type.Integer(),
};
const letterSchema = Type.Object(letterFields);
export type DeadLetter = StaticEncode<typeof letterSchema>;
const readLetter = fieldsReader('a dead letter', letterSchema);
const letterColumns = columnList(letterFields);

export type HookFields = Partial<Omit<Hook, 'id' | 'subject' | 'createdAt'>>;

/** Secrets that its messages are signed with. */
export const secretsOf = (
  { secret, oldSecret, oldSecretUntil = 0 }: Hook,
  nowMs: number,
): readonly string[] => (oldSecret !== undefined && oldSecretUntil > nowMs ? [secret, oldSecret] : [secret]);

export const newHookId = (): string => `hook_${randomBytes(12).toString('base64url')}`;
export const newMessageId = (): string => `msg_${randomBytes(16).toString('base64url')}`;

/** Undefined members of `fields` become null. */
const columns = (fields: HookFields): Columns => columnsOf(fields);

export class HookStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Adds it unless its owner or all owners together have as many as they may; answers which bound was met. */
  async add(hook: Hook, maxPerOwner: number, maxInAll: number): Promise<'added' | 'owner' | 'all'> {
    return this.#changing(async (tx) => {
      const counts = await tx.get(
        `SELECT COUNT(*) AS n, COUNT(CASE WHEN subject = ? THEN 1 END) AS own FROM event_hooks`,
        hook.subject,
      );
      if (readInteger(counts?.own) >= maxPerOwner) return 'owner';
      if (readInteger(counts?.n) >= maxInAll) return 'all';
      const row = { ...columnsOf(hook), holder: null, held_until: 0 };
      await tx.run(`INSERT INTO event_hooks ${insertion(row)}`, ...Object.values(row));
      return 'added';
    });
  }

  async list(subject: string): Promise<Hook[]> {
    const rows = await this.#sql.all<Row>(
      `SELECT ${hookColumns} FROM event_hooks WHERE subject = ? ORDER BY created_at, id`,
      subject,
    );
    return rows.map(readHook);
  }

  async get(subject: string, id: string): Promise<Hook | undefined> {
    const row = await this.#sql.get<Row>(
      `SELECT ${hookColumns} FROM event_hooks WHERE id = ? AND subject = ?`,
      id,
      subject,
    );
    return row && readHook(row);
  }

  /** What its owner changes; undefined where there is no such hook. `fieldsOf` may be asked again. */
  async change(subject: string, id: string, fieldsOf: (hook: Hook) => HookFields): Promise<Hook | undefined> {
    return this.#changing(async (tx) => {
      const row = await tx.get<Row>(
        `SELECT ${hookColumns} FROM event_hooks WHERE id = ? AND subject = ? ${tx.forUpdate}`,
        id,
        subject,
      );
      if (row === undefined) return undefined;
      const hook = readHook(row);
      const fields = { ...fieldsOf(hook), version: hook.version + 1 };
      const set = columns(fields);
      await tx.run(`UPDATE event_hooks SET ${assignments(set)} WHERE id = ?`, ...Object.values(set), id);
      return { ...hook, ...fields };
    });
  }

  async remove(subject: string, id: string): Promise<boolean> {
    return this.#changing(async (tx) => {
      const removed = await tx.run('DELETE FROM event_hooks WHERE id = ? AND subject = ?', id, subject);
      if (removed === 0) return false;
      await tx.run('DELETE FROM event_dead_letters WHERE hook = ?', id);
      return true;
    });
  }

  /** How often owners have changed hooks. */
  async changes(): Promise<number> {
    return readInteger((await this.#sql.get("SELECT value FROM event_state WHERE name = 'hooks'"))?.value);
  }

  /** Takes hooks that no other process holds, and keeps those that this one does: the active ones, all of them. */
  async hold(holder: string, leaseMs: number): Promise<Hook[]> {
    const now = clocks[this.#sql.engine];
    // One that is further ahead than any process leaves it is of a clock that was wrong.
    const isFree = `held_until < ${now} OR held_until > ${now} + ?`;
    const which = `state = 'active' AND (holder = ? OR ${isFree})`;
    const any = await this.#sql.get(
      `SELECT 1 AS one FROM event_hooks WHERE ${which} LIMIT 1`,
      holder,
      leaseMs,
    );
    if (any === undefined) return [];
    const rows = await this.#sql.transaction((tx) =>
      tx.all<Row>(
        `UPDATE event_hooks SET holder = ?, held_until = ${now} + ? WHERE ${which} RETURNING ${hookColumns}`,
        holder,
        leaseMs,
        holder,
        leaseMs,
      ),
    );
    return rows.map(readHook);
  }

  async release(holder: string): Promise<void> {
    const held = await this.#sql.get('SELECT 1 AS one FROM event_hooks WHERE holder = ? LIMIT 1', holder);
    if (held === undefined) return;
    await this.#sql.run('UPDATE event_hooks SET holder = NULL, held_until = 0 WHERE holder = ?', holder);
  }

  /** What its holder writes down; false where another process holds it by now, or its owner removed it. */
  async write(holder: string, id: string, fields: HookFields): Promise<boolean> {
    return (await writeHeld(this.#sql, holder, id, fields)) > 0;
  }

  /** The same, only where nothing was changed by its owner since it was read. */
  async writeUnchanged(holder: string, hook: Hook, fields: HookFields): Promise<boolean> {
    const where = { sql: "AND version = ? AND state = 'active'", values: [hook.version] };
    return (await writeHeld(this.#sql, holder, hook.id, fields, where)) > 0;
  }

  /** Puts a message among the dead letters and goes on behind it; the oldest letters beyond `keep` are forgotten. */
  async bury(holder: string, letter: DeadLetter, fields: HookFields, keep: number): Promise<boolean> {
    return this.#sql.transaction(async (tx) => {
      if ((await writeHeld(tx, holder, letter.hook, fields)) === 0) return false;
      const row = columnsOf(letter);
      await tx.run(
        `INSERT INTO event_dead_letters ${insertion(row)} ON CONFLICT (id) DO NOTHING`,
        ...Object.values(row),
      );
      await tx.run(
        `DELETE FROM event_dead_letters WHERE hook = ? AND id NOT IN (
           SELECT id FROM event_dead_letters WHERE hook = ? ORDER BY dead_at DESC, id DESC LIMIT ?)`,
        letter.hook,
        letter.hook,
        keep,
      );
      return true;
    });
  }

  async letters(hook: string): Promise<DeadLetter[]> {
    const rows = await this.#sql.all<Row>(
      `SELECT ${letterColumns.replace('body', "'' AS body")} FROM event_dead_letters WHERE hook = ?
       ORDER BY dead_at DESC, id DESC`,
      hook,
    );
    return rows.map(readLetter);
  }

  async letter(hook: string, id: string): Promise<DeadLetter | undefined> {
    const row = await this.#sql.get<Row>(
      `SELECT ${letterColumns} FROM event_dead_letters WHERE id = ? AND hook = ?`,
      id,
      hook,
    );
    return row && readLetter(row);
  }

  async dropLetter(hook: string, id: string): Promise<boolean> {
    return (await this.#sql.run('DELETE FROM event_dead_letters WHERE id = ? AND hook = ?', id, hook)) > 0;
  }

  async countLetters(hooks: readonly string[]): Promise<Map<string, number>> {
    if (hooks.length === 0) return new Map();
    const rows = await this.#sql.all<{ hook: string; n: number }>(
      `SELECT hook, COUNT(*) AS n FROM event_dead_letters WHERE hook IN (${hooks.map(() => '?').join(', ')})
       GROUP BY hook`,
      ...hooks,
    );
    return new Map(rows.map(({ hook, n }) => [hook, n]));
  }

  /** Letters that died, and hooks that ended, before these times. */
  async prune(lettersBefore: number, endedBefore: number): Promise<void> {
    await this.#changing(async (tx) => {
      await tx.run('DELETE FROM event_dead_letters WHERE dead_at < ?', lettersBefore);
      await tx.run("DELETE FROM event_hooks WHERE state = 'ended' AND ended_at < ?", endedBefore);
      await tx.run('DELETE FROM event_dead_letters WHERE hook NOT IN (SELECT id FROM event_hooks)');
    });
  }

  /** In a transaction that other processes notice. */
  #changing<T>(work: (tx: SqlExecutor) => Promise<T>): Promise<T> {
    return this.#sql.transaction(async (tx) => {
      // First: owners change hooks one after the other, so that the count that bounds them holds.
      await tx.run("UPDATE event_state SET value = value + 1 WHERE name = 'hooks'");
      return work(tx);
    });
  }
}

async function writeHeld(
  tx: SqlExecutor,
  holder: string,
  id: string,
  fields: HookFields,
  where: { readonly sql: string; readonly values: readonly SqlValue[] } = { sql: '', values: [] },
): Promise<number> {
  const set = columns(fields);
  return tx.run(
    `UPDATE event_hooks SET ${assignments(set)} WHERE id = ? AND holder = ? ${where.sql}`,
    ...Object.values(set),
    id,
    holder,
    ...where.values,
  );
}
