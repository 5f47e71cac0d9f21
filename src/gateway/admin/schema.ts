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
];
