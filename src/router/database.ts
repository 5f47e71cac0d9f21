/**
 * The router's databases: what was proven, figures about gateways, and what is blocked. On one machine each is a file of
 * its own; on PostgreSQL all are the schema `router`, so that routers on several machines know the same.
 */
import { join } from 'node:path';
import { nameChangesTable } from '../delivery/name-changes.ts';
import type { Logger } from '../kernel/log.ts';
import { databaseSettings, openDatabase, openSqliteFile } from '../storage/sql/open.ts';
import type { Migration, Sql } from '../storage/sql/sql.ts';
import { provenMigrations } from './content/proven-store.ts';
import { blocklistMigrations } from './moderation/block-store.ts';
import type { RouterSettings } from './settings.ts';
import { telemetryMigrations } from './telemetry/migrations.ts';

const ownMigrations: readonly Migration[] = [
  ...blocklistMigrations,
  { id: 'router-name-changes', up: nameChangesTable },
];

/** All migrations of the schema, in order; every opener gives this list. */
export const routerMigrations: readonly Migration[] = [
  ...provenMigrations,
  ...telemetryMigrations,
  ...ownMigrations,
];

export interface RouterDatabases {
  /** Who opens one closes it. */
  proven(): Promise<Sql>;
  telemetry(): Promise<Sql>;
  /** The blocklist, and names that were changed. */
  own(): Promise<Sql>;
}

export function routerDatabases(
  { config, cachePath, telemetryPath }: RouterSettings,
  log: Logger,
): RouterDatabases {
  const { DATA_DIR: dataDir } = config;
  const settings = databaseSettings(config, 'router');
  const open = async (file: string, migrations: readonly Migration[]): Promise<Sql> =>
    settings.databaseUrl === undefined
      ? await openSqliteFile(file, migrations)
      : await openDatabase({ ...settings, dataDir, name: 'router', migrations: routerMigrations, log });
  return {
    proven: () => open(join(cachePath, 'known.db'), provenMigrations),
    // An operator who names a file wants that file.
    telemetry: () =>
      config.TELEMETRY_DB_PATH === undefined
        ? open(telemetryPath, telemetryMigrations)
        : openSqliteFile(telemetryPath, telemetryMigrations),
    own: () => open(join(dataDir, 'router.db'), ownMigrations),
  };
}
