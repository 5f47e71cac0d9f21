import type { Migration } from '../storage/sql/sql.ts';

/** Names live in the ledger's database: a debit and the action it pays for are one transaction. */
export const namesMigrations: readonly Migration[] = [
  {
    id: 'names-001-actions',
    up: `
CREATE TABLE arns_action (
  nonce TEXT PRIMARY KEY,
  payer TEXT NOT NULL,
  payer_type TEXT NOT NULL,
  payer_nonce TEXT NOT NULL,
  action TEXT NOT NULL,
  request TEXT NOT NULL,
  name TEXT,
  owner TEXT,
  ant_id TEXT,
  winc AMOUNT NOT NULL,
  mtoken AMOUNT NOT NULL,
  status TEXT NOT NULL,
  before_state TEXT,
  prepared BYTES,
  signature TEXT,
  last_valid_block_height BIGINT,
  service_wire BYTES,
  service_signature TEXT,
  service_last_valid BIGINT,
  expires_at BIGINT NOT NULL,
  message_id TEXT,
  failed_reason TEXT,
  failed_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  UNIQUE (payer, payer_nonce)
);
CREATE INDEX arns_action_open ON arns_action (status, updated_at);
CREATE INDEX arns_action_payer ON arns_action (payer, status);
CREATE INDEX arns_action_owner ON arns_action (owner, status);
CREATE TABLE arns_spent_nonce (
  signer TEXT NOT NULL,
  nonce TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (signer, nonce)
);
CREATE INDEX arns_spent_nonce_expiry ON arns_spent_nonce (expires_at);
CREATE TABLE arns_receipt (
  id SERIAL_KEY,
  reference TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  ant_id TEXT NOT NULL,
  intent TEXT NOT NULL,
  type TEXT,
  years BIGINT,
  payer TEXT NOT NULL,
  owner TEXT,
  custodial BIGINT NOT NULL,
  purchased_at BIGINT NOT NULL
);
CREATE INDEX arns_receipt_payer ON arns_receipt (payer, id);
CREATE INDEX arns_receipt_owner ON arns_receipt (owner, id);
CREATE INDEX arns_receipt_ant ON arns_receipt (ant_id, id);
`,
  },
  {
    id: 'names-002-card-purchases',
    up: `
CREATE TABLE arns_purchase (
  nonce TEXT PRIMARY KEY,
  address TEXT NOT NULL,
  address_type TEXT NOT NULL,
  purchase TEXT NOT NULL,
  intent TEXT NOT NULL,
  name TEXT NOT NULL,
  process_id TEXT,
  quote TEXT NOT NULL,
  mtoken AMOUNT NOT NULL,
  winc AMOUNT NOT NULL,
  excess_winc AMOUNT NOT NULL,
  status TEXT NOT NULL,
  stage TEXT NOT NULL,
  ant_id TEXT,
  before_state TEXT,
  service_wire BYTES,
  service_signature TEXT,
  service_last_valid BIGINT,
  message_id TEXT,
  failed_reason TEXT,
  failed_at BIGINT,
  card_refunded BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE INDEX arns_purchase_open ON arns_purchase (status, updated_at);
`,
  },
  {
    id: 'names-003-kept-credits',
    up: `
ALTER TABLE arns_action ADD COLUMN token_winc AMOUNT NOT NULL DEFAULT '0';
ALTER TABLE arns_action ADD COLUMN kept_winc AMOUNT NOT NULL DEFAULT '0';
`,
  },
  {
    id: 'names-004-locks',
    up: `
CREATE TABLE arns_locks (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until BIGINT NOT NULL
);
ALTER TABLE arns_action ADD COLUMN list_page BIGINT;
ALTER TABLE arns_purchase ADD COLUMN list_page BIGINT;
CREATE INDEX arns_action_sending_name ON arns_action (name) WHERE status = 'sending';
CREATE INDEX arns_action_sending_ant ON arns_action (ant_id) WHERE status = 'sending';
CREATE INDEX arns_purchase_paying ON arns_purchase (name) WHERE stage = 'paying';
`,
  },
  {
    // What was used up so far moves to where every surface remembers it, each nonce in its one form. A nonce that acted
    // is there too, whether it was forgotten or not.
    id: 'names-005-spent-signatures',
    up: `
INSERT INTO spent_signatures (signer, key, claim, created_at)
  SELECT signer, LOWER(nonce), NULL, 0 FROM arns_spent_nonce WHERE true ON CONFLICT DO NOTHING;
INSERT INTO spent_signatures (signer, key, claim, created_at)
  SELECT 'payer:' || payer, LOWER(payer_nonce), NULL, created_at FROM arns_action WHERE true ON CONFLICT DO NOTHING;
DROP TABLE arns_spent_nonce;
`,
  },
  {
    // Actions that will wait for their owner count before they do; the row of a payer is what is locked to count.
    id: 'names-006-open-actions',
    up: `
ALTER TABLE arns_action ADD COLUMN owner_signs BIGINT NOT NULL DEFAULT 0;
CREATE TABLE arns_payer (payer TEXT PRIMARY KEY);
`,
  },
  {
    // Whether the service's signatures stay here until the owner has signed.
    id: 'names-007-owner-first',
    up: `
ALTER TABLE arns_action ADD COLUMN owner_first BIGINT NOT NULL DEFAULT 0;
`,
  },
  {
    // Names bought here, whose owners are told before their leases end: how it stood when the chain was last asked, the
    // step that was told last, and when to look again.
    id: 'names-008-leases',
    up: `
CREATE TABLE arns_leases (
  name TEXT PRIMARY KEY,
  ant_id TEXT,
  owner TEXT,
  ends_at BIGINT,
  step BIGINT NOT NULL,
  look_at BIGINT NOT NULL
);
CREATE INDEX arns_leases_due ON arns_leases (look_at);
INSERT INTO arns_leases (name, step, look_at) SELECT DISTINCT name, 0, 0 FROM arns_receipt;
`,
  },
  {
    // By which slot of a chain, which its genesis hash tells from others, everything is there that was done.
    id: 'names-009-slots',
    up: `
CREATE TABLE arns_slots (
  chain TEXT PRIMARY KEY,
  slot BIGINT NOT NULL
);
`,
  },
];
