/**
 * The blocklist as it is kept: entries, a version that tells every process when to look again, and what is known of the
 * files that show the list, one of each data folder.
 */
import { insertion } from '../../storage/sql/columns.ts';
import { clocks } from '../../storage/sql/lease.ts';
import type { Migration, Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { BlockEntry, BlockType, EntryPlace } from './entries.ts';

export const blocklistMigrations: readonly Migration[] = [
  {
    id: 'router-blocklist-001',
    up: `
CREATE TABLE blocklist_entries (
  entry_id SERIAL_KEY,
  kind TEXT NOT NULL,
  value TEXT NOT NULL,
  reason TEXT NOT NULL,
  blocked_at TEXT NOT NULL,
  blocked_by TEXT NOT NULL,
  resolved_id TEXT,
  place_root TEXT,
  place_start BIGINT,
  place_end BIGINT,
  UNIQUE (kind, value)
);
CREATE TABLE blocklist_state (
  only_row BIGINT PRIMARY KEY,
  version BIGINT NOT NULL,
  updated_at TEXT NOT NULL
);
INSERT INTO blocklist_state (only_row, version, updated_at) VALUES (1, 0, '');
CREATE TABLE blocklist_files (
  file TEXT NOT NULL,
  digest TEXT NOT NULL,
  version BIGINT NOT NULL,
  is_ours BIGINT NOT NULL,
  is_written BIGINT NOT NULL,
  noted_at BIGINT NOT NULL,
  PRIMARY KEY (file, digest)
);
CREATE INDEX blocklist_files_age ON blocklist_files (file, noted_at);
`,
  },
];

/** The whole list at one moment. */
export interface StoredList {
  readonly version: number;
  /** ISO 8601; empty before the first change. */
  readonly updatedAt: string;
  readonly entries: readonly BlockEntry[];
}

/** What a text found in a file is. */
export type FileState =
  /** What the list was, when the file was last seen or written. */
  | { readonly kind: 'known' }
  /** Written by a router and overtaken since. */
  | { readonly kind: 'overtaken' }
  /** Written by hand. `base`: the version that the file showed before; undefined for a file that was never seen. */
  | { readonly kind: 'new'; readonly base: number | undefined };

/** By hand, from one text of the file to the next. */
export interface FileChange {
  readonly came: readonly BlockEntry[];
  readonly went: readonly Pick<BlockEntry, 'type' | 'value'>[];
}

interface EntryRow {
  readonly kind: string;
  readonly value: string;
  readonly reason: string;
  readonly blocked_at: string;
  readonly blocked_by: string;
  readonly resolved_id: string | null;
  readonly place_root: string | null;
  readonly place_start: number | null;
  readonly place_end: number | null;
}

interface FileRow {
  readonly digest: string;
  readonly version: number;
  readonly is_ours: number;
  readonly is_written: number;
  readonly age: number;
}

/** Texts of a router that are taken for overtaken ones when they turn up: writers may pass each other. */
const overtakenMs = 60_000;
const textsKept = 50;

export class BlockStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async version(): Promise<number> {
    return (await stateOf(this.#sql)).version;
  }

  load(): Promise<StoredList> {
    return this.#sql.transaction(async (tx) => {
      const { version, updated_at: updatedAt } = await stateOf(tx);
      const rows = await tx.all<EntryRow>('SELECT * FROM blocklist_entries ORDER BY entry_id');
      return { version, updatedAt, entries: rows.map(entryOf) };
    });
  }

  /** Adds an entry, or what is new about one; answers what was done. */
  block(entry: BlockEntry): Promise<'added' | 'completed' | 'known'> {
    return this.#sql.transaction(async (tx) => {
      await lockState(tx);
      if (await add(tx, entry)) {
        await bump(tx);
        return 'added';
      }
      // What a name shows is found out after it was blocked, and is one change with it.
      const completed =
        entry.resolvedTxId === undefined
          ? 0
          : await tx.run(
              'UPDATE blocklist_entries SET resolved_id = ? WHERE kind = ? AND value = ? AND resolved_id IS NULL',
              entry.resolvedTxId,
              entry.type,
              entry.value,
            );
      if (completed === 0) return 'known';
      await bump(tx);
      return 'completed';
    });
  }

  /** The entry that was removed; undefined when there was none. */
  unblock(type: BlockType, value: string): Promise<BlockEntry | undefined> {
    return this.#sql.transaction(async (tx) => {
      await lockState(tx);
      const row = await tx.get<EntryRow>(
        'SELECT * FROM blocklist_entries WHERE kind = ? AND value = ?',
        type,
        value,
      );
      if (row === undefined) return undefined;
      await remove(tx, { type, value });
      await bump(tx);
      return entryOf(row);
    });
  }

  /** Keeps with its entries where an id lies; true when that is new. */
  place(id: string, { root, start, end }: EntryPlace): Promise<boolean> {
    return this.#sql.transaction(async (tx) => {
      await lockState(tx);
      const placed = await tx.run(
        `UPDATE blocklist_entries SET place_root = ?, place_start = ?, place_end = ?
         WHERE place_root IS NULL AND ((kind = 'txid' AND value = ?) OR (kind = 'arns' AND resolved_id = ?))`,
        root,
        start,
        end,
        id,
        id,
      );
      if (placed > 0) await bump(tx);
      return placed > 0;
    });
  }

  fileState(file: string, digest: string): Promise<FileState> {
    return fileState(this.#sql, file, digest);
  }

  /**
   * Takes a file over that was written by hand: entries that came are blocked, entries that went no longer are. The
   * second only where the file had shown the list as it is now; else what others blocked since would be undone.
   * Undefined where another process was faster.
   */
  adopt(file: string, digest: string, entries: readonly BlockEntry[]): Promise<FileChange | undefined> {
    return this.#sql.transaction(async (tx) => {
      const { version } = await lockState(tx);
      const state = await fileState(tx, file, digest);
      if (state.kind !== 'new') return undefined;
      const rows = await tx.all<EntryRow>('SELECT * FROM blocklist_entries ORDER BY entry_id');
      const before = new Map(rows.map(entryOf).map((entry) => [keyOf(entry), entry]));
      const after = new Map(entries.map((entry) => [keyOf(entry), entry]));
      const came = [...after.values()].filter((entry) => !before.has(keyOf(entry)));
      const went =
        state.base === version ? [...before.values()].filter((entry) => !after.has(keyOf(entry))) : [];
      for (const entry of went) await remove(tx, entry);
      for (const entry of came) await add(tx, entry);
      const next = came.length + went.length > 0 ? await bump(tx) : version;
      await noteFile(tx, file, { digest, version: next, isOurs: false });
      return { came, went: went.map(({ type, value }) => ({ type, value })) };
    });
  }

  /** Before a router writes the list to a file. False where the file was to show a later one already. */
  willWrite(file: string, digest: string, version: number): Promise<boolean> {
    return this.#sql.transaction(async (tx) => {
      await lockState(tx);
      const newest = await tx.get<{ version: number | null }>(
        'SELECT MAX(version) AS version FROM blocklist_files WHERE file = ? AND is_ours = 1',
        file,
      );
      if ((newest?.version ?? -1) > version) return false;
      await noteFile(tx, file, { digest, version, isOurs: true });
      return true;
    });
  }

  async written(file: string, digest: string): Promise<void> {
    await this.#sql.run(
      'UPDATE blocklist_files SET is_written = 1 WHERE file = ? AND digest = ?',
      file,
      digest,
    );
  }
}

export const keyOf = ({ type, value }: Pick<BlockEntry, 'type' | 'value'>): string => `${type}/${value}`;

interface StateRow {
  readonly version: number;
  readonly updated_at: string;
}

async function stateOf(sql: SqlExecutor, suffix = ''): Promise<StateRow> {
  const row = await sql.get<StateRow>(
    `SELECT version, updated_at FROM blocklist_state WHERE only_row = 1 ${suffix}`,
  );
  if (row === undefined) throw new Error('the blocklist has lost its version');
  return row;
}

/** One change at a time, whichever process makes it. */
const lockState = (tx: SqlExecutor): Promise<StateRow> => stateOf(tx, tx.forUpdate);

async function bump(tx: SqlExecutor): Promise<number> {
  const row = await tx.get<{ version: number }>(
    'UPDATE blocklist_state SET version = version + 1, updated_at = ? WHERE only_row = 1 RETURNING version',
    new Date().toISOString(),
  );
  return row?.version ?? 0;
}

/** Text that PostgreSQL has no room for. */
const withoutNul = (text: string): string => text.replaceAll('\0', '\u{fffd}');

async function add(tx: SqlExecutor, entry: BlockEntry): Promise<boolean> {
  const columns = {
    kind: entry.type,
    value: entry.value,
    reason: withoutNul(entry.reason),
    blocked_at: withoutNul(entry.blockedAt),
    blocked_by: withoutNul(entry.blockedBy),
    resolved_id: entry.resolvedTxId ?? null,
    place_root: entry.place?.root ?? null,
    place_start: entry.place?.start ?? null,
    place_end: entry.place?.end ?? null,
  };
  const text = `INSERT INTO blocklist_entries ${insertion(columns)} ON CONFLICT (kind, value) DO NOTHING`;
  return (await tx.run(text, ...Object.values(columns))) > 0;
}

const remove = (tx: SqlExecutor, { type, value }: Pick<BlockEntry, 'type' | 'value'>): Promise<number> =>
  tx.run('DELETE FROM blocklist_entries WHERE kind = ? AND value = ?', type, value);

async function fileState(sql: SqlExecutor, file: string, digest: string): Promise<FileState> {
  const now = clocks[sql.engine];
  // By version first: a clock that was ahead makes no text the last one.
  const rows = await sql.all<FileRow>(
    `SELECT digest, version, is_ours, is_written, ${now} - noted_at AS age FROM blocklist_files
     WHERE file = ? ORDER BY version DESC, noted_at DESC LIMIT ?`,
    file,
    textsKept,
  );
  // What a writer that died had only announced is not what the file showed.
  const shown = rows.find(({ is_written: isWritten }) => isWritten === 1) ?? rows[0];
  if (shown === undefined) return { kind: 'new', base: undefined };
  if (shown.digest === digest) return { kind: 'known' };
  const found = rows.find((row) => row.digest === digest);
  const isAnnounced = rows.some(({ is_written: isWritten }) => isWritten === 0);
  if (found?.is_ours === 1 && (isAnnounced || Math.abs(found.age) < overtakenMs))
    return { kind: 'overtaken' };
  return { kind: 'new', base: shown.version };
}

async function noteFile(
  tx: SqlExecutor,
  file: string,
  { digest, version, isOurs }: { digest: string; version: number; isOurs: boolean },
): Promise<void> {
  const now = clocks[tx.engine];
  await tx.run(
    `INSERT INTO blocklist_files (file, digest, version, is_ours, is_written, noted_at) VALUES (?, ?, ?, ?, ?, ${now})
     ON CONFLICT (file, digest) DO UPDATE SET version = excluded.version, is_ours = excluded.is_ours,
     is_written = excluded.is_written, noted_at = excluded.noted_at`,
    file,
    digest,
    version,
    Number(isOurs),
    Number(!isOurs),
  );
  await tx.run(
    `DELETE FROM blocklist_files WHERE file = ? AND digest NOT IN
     (SELECT digest FROM blocklist_files WHERE file = ? ORDER BY version DESC, noted_at DESC LIMIT ?)`,
    file,
    file,
    textsKept,
  );
}

function entryOf(row: EntryRow): BlockEntry {
  const { place_root: root, place_start: start, place_end: end, resolved_id: resolvedTxId } = row;
  return {
    type: row.kind === 'arns' ? 'arns' : 'txid',
    value: row.value,
    reason: row.reason,
    blockedAt: row.blocked_at,
    blockedBy: row.blocked_by,
    ...(resolvedTxId === null ? {} : { resolvedTxId }),
    ...(root === null || start === null || end === null ? {} : { place: { root, start, end } }),
  };
}
