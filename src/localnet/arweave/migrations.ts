import type { Migration } from '../../storage/sql/sql.ts';

/** Everything the node knows is in one SQLite file; a chunk's bytes are a row, so they are as durable as its proof. */
export const migrations: readonly Migration[] = [
  {
    id: 'local-arweave-001',
    up: `
CREATE TABLE blocks (
  hash TEXT PRIMARY KEY,
  height BIGINT NOT NULL,
  -- 0 for a block that a fork replaced: it can still be asked for by hash
  canonical BIGINT NOT NULL,
  json TEXT NOT NULL
);
CREATE UNIQUE INDEX blocks_by_height ON blocks (height) WHERE canonical = 1;
CREATE TABLE transactions (
  -- order of arrival, in which they are mined
  sequence SERIAL_KEY,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  target TEXT NOT NULL,
  quantity AMOUNT NOT NULL,
  reward AMOUNT NOT NULL,
  anchor TEXT NOT NULL,
  format BIGINT NOT NULL,
  data_root BYTES NOT NULL,
  data_size BIGINT NOT NULL,
  -- as GET /tx/{id} answers it
  header TEXT NOT NULL,
  -- NULL while pending
  height BIGINT,
  block_hash TEXT,
  -- place in the weave, counted from 1; NULL without data
  weave_end BIGINT,
  tx_path BYTES
);
CREATE INDEX transactions_pending ON transactions (sequence) WHERE height IS NULL;
CREATE INDEX transactions_pending_by_owner ON transactions (owner) WHERE height IS NULL;
CREATE INDEX transactions_by_height ON transactions (height) WHERE height IS NOT NULL;
CREATE INDEX transactions_by_weave_end ON transactions (weave_end) WHERE weave_end IS NOT NULL;
CREATE INDEX transactions_by_data_root ON transactions (data_root, data_size);
CREATE TABLE chunks (
  data_root BYTES NOT NULL,
  data_size BIGINT NOT NULL,
  chunk_end BIGINT NOT NULL,
  chunk_start BIGINT NOT NULL,
  data_path BYTES NOT NULL,
  bytes BYTES NOT NULL,
  PRIMARY KEY (data_root, data_size, chunk_end)
);
CREATE TABLE wallets (
  address TEXT PRIMARY KEY,
  bucket BIGINT NOT NULL,
  balance AMOUNT NOT NULL,
  last_tx TEXT NOT NULL
);
CREATE INDEX wallets_by_bucket ON wallets (bucket, address);
CREATE TABLE wallet_buckets (
  bucket BIGINT PRIMARY KEY,
  hash BYTES NOT NULL
);
-- what each recent block did to each wallet, so that a fork can take it back
CREATE TABLE undo (
  height BIGINT NOT NULL,
  address TEXT NOT NULL,
  change AMOUNT NOT NULL,
  last_tx TEXT NOT NULL,
  PRIMARY KEY (height, address)
);
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value AMOUNT NOT NULL
);
`,
  },
];
