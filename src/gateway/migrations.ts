/** All migrations of the `gateway` database, in order; every opener gives this list. */
import type { Migration } from '../storage/sql/sql.ts';
import { placeMigrations } from './admin/moderation/place-store.ts';
import { adminMigrations } from './admin/schema.ts';
import { jobMigrations } from './admin/shared-job.ts';
import { migrations } from './chain-index/schema.ts';
import { sharedMigrations } from './content/shared/migrations.ts';
import { meterMigrations } from './metering/schema.ts';

export const gatewayMigrations: readonly Migration[] = [
  ...migrations,
  ...adminMigrations,
  ...meterMigrations,
  ...sharedMigrations,
  ...jobMigrations,
  ...placeMigrations,
];
