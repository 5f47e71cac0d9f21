/**
 * A SQLite file as it stood at one moment, while others write to it: SQLite's own backup in one step, which reads one
 * snapshot of the log and holds up no writer.
 */
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { syncFolder } from '../../kernel/files.ts';
import { createPrivateFile, privateFileMode } from '../../kernel/private-files.ts';
import type { BlobStore } from '../blobs/blobs.ts';
import { integrityProblems } from '../sql/sqlite/integrity.ts';
import type { DatabaseCopy, StoredPart } from './manifest.ts';
import { BackupDamaged, putCompressed, readCompressed } from './stored-bytes.ts';

const busyTimeoutMs = 20_000;
const allPages = 0x7fff_ffff;
const fileName = 'file';

/** Makes `copy`, one file that nobody else has open. */
export async function copySqlite(path: string, copy: string): Promise<void> {
  await rm(copy, { force: true });
  createPrivateFile(copy);
  const source = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
  try {
    await backup(source, copy, { rate: allPages });
  } finally {
    source.close();
  }
  // The copy says that it has a log beside it, as its source does.
  const made = new DatabaseSync(copy);
  try {
    made.exec('PRAGMA journal_mode = DELETE');
  } finally {
    made.close();
  }
}

/** What is in a copy. Throws `BackupDamaged` where a page of it is. */
export async function describeSqlite(copy: string): Promise<Pick<DatabaseCopy, 'rows' | 'migrations'>> {
  const [problem] = await integrityProblems(copy);
  if (problem !== undefined) throw new BackupDamaged(`${copy} is damaged: ${problem}`);
  const database = new DatabaseSync(copy, { readOnly: true });
  try {
    const tables = database
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
      )
      .all()
      .map(({ name }) => String(name));
    const rows: Record<string, number> = {};
    for (const table of tables.sort()) {
      rows[table] = Number(database.prepare(`SELECT COUNT(*) AS n FROM "${table}"`).get()?.n);
      // Timers are let in between: counting a large table takes a while.
      await sleep(0);
    }
    const migrations = tables.includes('schema_migrations')
      ? database.prepare('SELECT id FROM schema_migrations').all()
      : [];
    return { rows, migrations: migrations.map(({ id }) => String(id)) };
  } finally {
    database.close();
  }
}

export async function putSqlite(store: BlobStore, copy: string): Promise<DatabaseCopy['parts']> {
  const stored: StoredPart = await putCompressed(store, createReadStream(copy));
  return [{ name: fileName, ...stored }];
}

/** Writes the file of a backup, whole or not at all. Throws `BackupDamaged` where it is not what it was. */
export async function restoreSqlite(
  store: BlobStore,
  { name, parts, rows }: DatabaseCopy,
  path: string,
): Promise<void> {
  const [part] = parts;
  if (part === undefined || parts.length !== 1)
    throw new BackupDamaged(`database ${name} of the backup is no file`);
  const temporary = `${path}.restoring`;
  for (const leftover of [temporary, `${temporary}-journal`]) await rm(leftover, { force: true });
  const file = await open(temporary, 'wx', privateFileMode);
  try {
    for await (const piece of readCompressed(store, part)) await file.writeFile(piece);
    await file.sync();
  } finally {
    await file.close();
  }
  insistOnRows(name, rows, (await describeSqlite(temporary)).rows);
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** Throws `BackupDamaged` where a table has other rows than it had. */
export function insistOnRows(
  name: string,
  expected: DatabaseCopy['rows'],
  found: DatabaseCopy['rows'],
): void {
  for (const table of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    if (expected[table] === found[table]) continue;
    throw new BackupDamaged(
      `table ${table} of ${name} has ${found[table] ?? 'no'} rows and had ${expected[table] ?? 'none'}`,
    );
  }
}
