/**
 * What a restore says about itself in DATA_DIR: while it goes on, nothing starts there; afterwards, which moment the state
 * is of, so that `turnpike reconcile` knows from when on the outside may know more.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { StartupError } from '../../kernel/errors.ts';
import { writeFileDurably } from '../../kernel/files.ts';
import { privateFileMode } from '../../kernel/private-files.ts';
import { jsonReader } from '../../storage/sql/typed-rows.ts';

const mark = Type.Object({
  backup: Type.String(),
  state: Type.Enum(['running', 'done']),
  /** Of the backup, Unix milliseconds. */
  backupAt: Type.Integer(),
  restoredAt: Type.Integer(),
});
export type RestoreMark = Readonly<{
  backup: string;
  state: 'running' | 'done';
  backupAt: number;
  restoredAt: number;
}>;

/** Clocks differ, and what was on its way when the backup was made may be of before it. */
export const overlapMs = 3_600_000;

const read = jsonReader('restore.json', mark);
const fileOf = (dataDir: string): string => join(dataDir, 'restore.json');

export function readRestoreMark(dataDir: string): RestoreMark | undefined {
  const path = fileOf(dataDir);
  return existsSync(path) ? read(readFileSync(path, 'utf8')) : undefined;
}

export const writeRestoreMark = (dataDir: string, fields: RestoreMark): Promise<void> =>
  writeFileDurably(fileOf(dataDir), `${JSON.stringify(fields, null, 2)}\n`, privateFileMode);

/** A start on half a restore would sell on a ledger that is not there yet. */
export function insistOnWholeRestore(dataDir: string): void {
  const found = readRestoreMark(dataDir);
  if (found?.state !== 'running') return;
  throw new StartupError(
    `DATA_DIR ${dataDir} is being restored, or a restore was cut off: run "turnpike restore" to its end, or empty it`,
  );
}
