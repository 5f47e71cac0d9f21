/** The databases that an installation has, wherever they are. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { gatewayMigrations } from '../../gateway/migrations.ts';
import { routerMigrations } from '../../router/database.ts';
import { databaseSettings } from '../../storage/sql/open.ts';
import type { Migration } from '../../storage/sql/sql.ts';
import { ledgerMigrations } from '../ledger-database.ts';

export type DatabaseConfig = Pick<
  Config,
  'DATA_DIR' | 'DATABASE_URL' | 'DATABASE_URL_LEDGER' | 'DATABASE_URL_GATEWAY' | 'DATABASE_URL_ROUTER'
>;

/** Those that can be schemas of a PostgreSQL. The ledger is read first: what it names, the others may know too. */
export const sharedDatabases: readonly {
  readonly name: 'ledger' | 'gateway' | 'router';
  readonly migrations: readonly Migration[];
}[] = [
  { name: 'ledger', migrations: ledgerMigrations },
  { name: 'gateway', migrations: gatewayMigrations },
  { name: 'router', migrations: routerMigrations },
];

/** The PostgreSQL that has the schema of that name; undefined where it is a file. */
export function postgresOf(config: DatabaseConfig, name: string): string | undefined {
  const shared = sharedDatabases.find((database) => database.name === name);
  return shared === undefined ? undefined : databaseSettings(config, shared.name).databaseUrl;
}

const fileName = /^([a-z][a-z0-9_-]{0,47})\.db$/;

export const sqlitePath = ({ DATA_DIR }: DatabaseConfig, name: string): string =>
  join(DATA_DIR, `${name}.db`);

/** Names of the SQLite files, the ledger first; without those that a PostgreSQL has. */
export function sqliteDatabases(config: DatabaseConfig): string[] {
  const found = readdirSync(config.DATA_DIR).flatMap((file) => fileName.exec(file)?.[1] ?? []);
  const own = found.filter((name) => postgresOf(config, name) === undefined);
  return own.sort((a, b) => Number(b === 'ledger') - Number(a === 'ledger') || a.localeCompare(b));
}
