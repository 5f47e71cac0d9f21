import type { Migration } from '../../storage/sql/sql.ts';

export const migrations: readonly Migration[] = [
  {
    id: 'local-solana-001',
    up: `
CREATE TABLE genesis (
  id BIGINT PRIMARY KEY,
  seed BYTES NOT NULL,
  created_ms BIGINT NOT NULL,
  settings TEXT NOT NULL
);
CREATE TABLE account (
  address TEXT PRIMARY KEY,
  lamports AMOUNT NOT NULL,
  owner TEXT NOT NULL,
  executable BIGINT NOT NULL,
  data BYTES NOT NULL
);
CREATE TABLE ledger_transaction (
  sequence BIGINT PRIMARY KEY,
  signature TEXT NOT NULL UNIQUE,
  slot BIGINT NOT NULL,
  time_ms BIGINT NOT NULL,
  wire BYTES NOT NULL,
  meta TEXT NOT NULL
);
CREATE TABLE address_transaction (
  address TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  PRIMARY KEY (address, sequence)
);
`,
  },
  {
    id: 'local-solana-002',
    up: 'CREATE INDEX ledger_transaction_slot ON ledger_transaction (slot, sequence);',
  },
  {
    // Accounts that ended here: what is forked does not bring them back.
    id: 'local-solana-ended-001',
    up: `
CREATE TABLE ended_account (
  address TEXT PRIMARY KEY
);
`,
  },
];
