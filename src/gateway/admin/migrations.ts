/** The tables of the operator's side, in the `gateway` database. */
import type { Migration } from '../../storage/sql/sql.ts';

export const adminMigrations: readonly Migration[] = [
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
];
