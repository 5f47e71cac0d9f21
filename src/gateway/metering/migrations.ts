/** The meter's tables in the `gateway` database. Tokens are kept in thousandths. */
import type { Migration } from '../../storage/sql/sql.ts';

export const meterMigrations: readonly Migration[] = [
  {
    id: 'gateway-meter-001',
    up: `
CREATE TABLE meter_buckets (
  bucket TEXT PRIMARY KEY,
  millitokens BIGINT NOT NULL,
  filled_at BIGINT NOT NULL
);
CREATE TABLE meter_paid (
  client TEXT PRIMARY KEY,
  millitokens BIGINT NOT NULL
);
CREATE TABLE meter_payments (
  payment TEXT PRIMARY KEY,
  client TEXT NOT NULL,
  tokens BIGINT NOT NULL,
  paid_at BIGINT NOT NULL
);`,
  },
];
