/**
 * The database `ledger`: credits, pricing, payment, uploads and names share it, so that what is bought and what
 * it costs are stored in one transaction. Opened once per process, always with every room's migrations.
 */
import type { Config } from '../config/config.ts';
import { creditsMigrations } from '../credits/migrations.ts';
import { namesMigrations } from '../names/migrations.ts';
import { paymentMigrations } from '../payment/migrations.ts';
import { cardMigrations } from '../payments/card/migrations.ts';
import { returnsMigrations } from '../payments/returns/migrations.ts';
import { x402Migrations } from '../payments/x402/migrations.ts';
import { databaseSettings, openDatabase } from '../storage/sql/open.ts';
import type { Migration, Sql, StorageLog } from '../storage/sql/sql.ts';
import { uploadMigrations } from '../upload/migrations.ts';
import { worldMigrations } from './stack/ledger-world.ts';

export const ledgerMigrations: readonly Migration[] = [
  ...creditsMigrations,
  ...paymentMigrations,
  ...cardMigrations,
  ...x402Migrations,
  ...returnsMigrations,
  ...namesMigrations,
  ...uploadMigrations,
  ...worldMigrations,
];

export function openLedgerDatabase(
  config: Pick<Config, 'DATABASE_URL' | 'DATA_DIR'> & Partial<Pick<Config, 'DATABASE_URL_LEDGER'>>,
  log?: StorageLog,
): Promise<Sql> {
  return openDatabase({
    ...databaseSettings(config, 'ledger'),
    dataDir: config.DATA_DIR,
    name: 'ledger',
    migrations: ledgerMigrations,
    ...(log && { log }),
  });
}
