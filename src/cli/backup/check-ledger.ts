/** The ledger of a backup: that it adds up, and which blobs it needs. */
import { selfCheck } from '../../credits/ledger/self-check.ts';
import { BackupDamaged } from '../../storage/backup/stored-bytes.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import type { SqlReader } from '../../storage/sql/sql.ts';
import { usedBlobs } from '../../upload/items/blob-uses.ts';
import { ledgerMigrations } from '../ledger-database.ts';

export interface CheckedLedger {
  readonly digests: string[];
  readonly accounts: number;
  readonly entries: number;
}

/** Throws `BackupDamaged` where it does not add up. */
export async function checkLedger(ledger: SqlReader): Promise<CheckedLedger> {
  const { ok, problems, accounts, entries } = await selfCheck(ledger);
  if (!ok) throw new BackupDamaged(`the ledger does not add up: ${problems[0]}; see "turnpike ledger check"`);
  return { digests: await usedBlobs(ledger), accounts, entries };
}

/** Of a copy in a file, which is brought to the schema of this release for it. */
export async function checkLedgerFile(path: string): Promise<CheckedLedger> {
  const copy = await openSqliteFile(path, ledgerMigrations);
  try {
    return await checkLedger(copy);
  } finally {
    await copy.close();
  }
}
