/**
 * All migrations of the `gateway` database, in order; every opener gives this list. The tables of `admin/` are written
 * here: the export, which `admin/` starts, opens the database too.
 */
import type { Migration } from '../storage/sql/sql.ts';
import { migrations } from './chain-index/migrations.ts';
import { sharedMigrations } from './content/shared/migrations.ts';
import { meterMigrations } from './metering/migrations.ts';

export const gatewayMigrations: readonly Migration[] = [
  ...migrations,
  {
    id: 'gateway-admin-001-asked',
    up: `
CREATE TABLE asked_transactions (
  id BYTES PRIMARY KEY,
  asked_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  next_try_at BIGINT NOT NULL
);
CREATE INDEX asked_transactions_due ON asked_transactions (next_try_at);`,
  },
  {
    id: 'gateway-admin-002-blocks',
    up: `
CREATE TABLE block_sources (
  source SERIAL_KEY,
  name TEXT NOT NULL UNIQUE,
  created_at BIGINT NOT NULL
);
CREATE TABLE content_blocks (
  kind TEXT NOT NULL,
  what TEXT NOT NULL,
  source BIGINT,
  notes TEXT,
  blocked_at BIGINT NOT NULL,
  PRIMARY KEY (kind, what)
);`,
  },
  ...meterMigrations,
  ...sharedMigrations,
  {
    id: 'gateway-admin-003-jobs',
    up: `
CREATE TABLE operator_jobs (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  running BIGINT NOT NULL,
  status TEXT NOT NULL,
  told_at BIGINT NOT NULL
);`,
  },
  {
    id: 'gateway-admin-004-places',
    up: `
CREATE TABLE blocked_places (
  place SERIAL_KEY,
  id TEXT NOT NULL,
  hash TEXT,
  root TEXT NOT NULL,
  start_at BIGINT NOT NULL,
  end_at BIGINT NOT NULL,
  UNIQUE (id, root)
);`,
  },
  {
    id: 'gateway-admin-005-cancel',
    up: 'ALTER TABLE operator_jobs ADD COLUMN cancelled BIGINT NOT NULL DEFAULT 0;',
  },
  {
    id: 'gateway-unbundle-remark',
    up: 'ALTER TABLE bundles ADD COLUMN remark TEXT;',
  },
  {
    // Given up by versions that took a bundle for none because of what is odd about it.
    id: 'gateway-unbundle-read-again',
    up: `
UPDATE bundles SET state = 'queued', holder = NULL, next_try_at = 0, retry_attempt_count = 0
WHERE state = 'failed' AND last_error IN ('there are bytes after the last item', 'the size of an item is impossible');`,
  },
  {
    id: 'gateway-name-changes',
    up: `
CREATE TABLE name_changes (
  change_id SERIAL_KEY,
  name TEXT NOT NULL,
  undername TEXT,
  changed_at BIGINT NOT NULL
);
CREATE INDEX name_changes_at ON name_changes (changed_at);`,
  },
];
