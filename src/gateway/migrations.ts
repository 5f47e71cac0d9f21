/** All migrations of the `gateway` database, in order; every opener gives this list. */
import type { Migration } from '../storage/sql/sql.ts';
import { adminMigrations } from './admin/migrations.ts';
import { placeMigrations } from './admin/moderation/place-store.ts';
import { jobMigrations } from './admin/shared-job.ts';
import { migrations } from './chain-index/migrations.ts';
import { sharedMigrations } from './content/shared/schema.ts';
import { meterMigrations } from './metering/migrations.ts';

export const gatewayMigrations: readonly Migration[] = [
  ...migrations,
  ...adminMigrations,
  ...meterMigrations,
  ...sharedMigrations,
  ...jobMigrations,
  ...placeMigrations,
];
