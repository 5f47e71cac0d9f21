import type { Migration } from '../storage/sql/sql.ts';

/** Tables of the payment surface itself, in the database `ledger`; card and x402 payments have theirs. */
export const paymentMigrations: readonly Migration[] = [
  {
    id: 'payment-001-gifts',
    up: `
      CREATE TABLE payment_gifts (
        receipt_id TEXT PRIMARY KEY,
        email TEXT NOT NULL,
        amount AMOUNT NOT NULL,
        payment TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        redeemed_by TEXT,
        redeemed_type TEXT,
        redeemed_at BIGINT
      );
    `,
  },
  {
    id: 'payment-002-chain',
    up: `
      CREATE TABLE payment_chain_transactions (
        chain TEXT NOT NULL,
        transaction_id TEXT NOT NULL,
        token TEXT NOT NULL,
        state TEXT NOT NULL,
        quantity AMOUNT NOT NULL,
        winc AMOUNT NOT NULL,
        adjustments TEXT NOT NULL,
        usd_equivalent TEXT NOT NULL,
        sender TEXT NOT NULL,
        destination TEXT NOT NULL,
        destination_type TEXT NOT NULL,
        referer TEXT,
        created_at BIGINT NOT NULL,
        ended_at BIGINT,
        block_height BIGINT,
        failure_reason TEXT,
        checks BIGINT NOT NULL,
        checked_at BIGINT NOT NULL,
        next_check_at BIGINT NOT NULL,
        PRIMARY KEY (chain, transaction_id)
      );
      CREATE INDEX payment_chain_pending ON payment_chain_transactions (next_check_at) WHERE state = 'pending';
    `,
  },
  {
    id: 'payment-003-missing-since',
    up: 'ALTER TABLE payment_chain_transactions ADD COLUMN missing_since BIGINT',
  },
  {
    id: 'payment-004-gift-quotes',
    up: `
      ALTER TABLE payment_gifts ADD COLUMN quote_id TEXT;
      CREATE INDEX payment_gifts_by_quote ON payment_gifts (quote_id);
      CREATE INDEX payment_gifts_waiting ON payment_gifts (created_at) WHERE redeemed_by IS NULL
    `,
  },
  {
    id: 'payment-005-chain-seen-height',
    up: `
      ALTER TABLE payment_chain_transactions ADD COLUMN seen_height BIGINT;
      CREATE INDEX payment_chain_failed ON payment_chain_transactions (next_check_at) WHERE state = 'failed'
    `,
  },
  {
    // For operators who look at the newest.
    id: 'payment-006-newest',
    up: `
      CREATE INDEX payment_chain_newest ON payment_chain_transactions (created_at);
      CREATE INDEX payment_chain_by_state ON payment_chain_transactions (state, created_at)
    `,
  },
];
