/** The databases that an installation has, wherever they are. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { gatewayMigrations } from '../../gateway/migrations.ts';
import type { Migration } from '../../storage/sql/sql.ts';
import { ledgerMigrations } from '../ledger-database.ts';

export type DatabaseConfig = Pick<Config, 'DATA_DIR' | 'DATABASE_URL'>;

/** Those that can be schemas of a PostgreSQL. The ledger is read first: what it names, the others may know too. */
export const sharedDatabases: readonly {
  readonly name: string;
  readonly migrations: readonly Migration[];
}[] = [
  { name: 'ledger', migrations: ledgerMigrations },
  { name: 'gateway', migrations: gatewayMigrations },
];

const fileName = /^([a-z][a-z0-9_-]{0,47})\.db$/;

export const sqlitePath = ({ DATA_DIR }: DatabaseConfig, name: string): string =>
  join(DATA_DIR, `${name}.db`);

/** Names of the SQLite files, the ledger first. With a PostgreSQL only those that it does not have. */
export function sqliteDatabases({ DATA_DIR, DATABASE_URL }: DatabaseConfig): string[] {
  const found = readdirSync(DATA_DIR).flatMap((file) => fileName.exec(file)?.[1] ?? []);
  const isShared = (name: string) => sharedDatabases.some((database) => database.name === name);
  const own = DATABASE_URL === undefined ? found : found.filter((name) => !isShared(name));
  return own.sort((a, b) => Number(b === 'ledger') - Number(a === 'ledger') || a.localeCompare(b));
}
