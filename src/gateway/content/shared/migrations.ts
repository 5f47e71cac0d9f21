/** Which content the gateways of one database keep together, and when it was last asked for. */
import type { Migration } from '../../../storage/sql/sql.ts';

export const sharedMigrations: readonly Migration[] = [
  {
    id: 'gateway-shared-001-copies',
    up: `
CREATE TABLE shared_copies (
  digest BYTES PRIMARY KEY,
  size BIGINT NOT NULL,
  used_at BIGINT NOT NULL
);
CREATE INDEX shared_copies_used ON shared_copies (used_at);`,
  },
];
