import type { Migration } from '../../storage/sql/sql.ts';

/** In the `ledger` database, beside the balances that a settled payment changes. */
export const x402Migrations: readonly Migration[] = [
  {
    id: 'x402-001-payments',
    up: `
      CREATE TABLE x402_payments (
        id TEXT PRIMARY KEY,
        version BIGINT NOT NULL,
        network TEXT NOT NULL,
        payer TEXT NOT NULL,
        nonce TEXT NOT NULL,
        value AMOUNT NOT NULL,
        valid_before AMOUNT NOT NULL,
        request TEXT NOT NULL,
        purpose TEXT NOT NULL,
        reference TEXT,
        address TEXT NOT NULL,
        address_type TEXT NOT NULL,
        winc AMOUNT NOT NULL,
        state TEXT NOT NULL,
        settlement TEXT,
        leased_until BIGINT NOT NULL,
        attempts BIGINT NOT NULL,
        due_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        changed_at BIGINT NOT NULL
      );
      CREATE INDEX x402_payments_open ON x402_payments (due_at) WHERE state = 'open'
    `,
  },
  {
    id: 'x402-002-unclear',
    up: `CREATE INDEX x402_payments_unclear ON x402_payments (created_at) WHERE state = 'unclear'`,
  },
  {
    // What a payment bought. Rows from before have none of it: they bought credits, and nothing else can be had for them.
    id: 'x402-003-purchases',
    up: `
      ALTER TABLE x402_payments ADD COLUMN reserved AMOUNT;
      ALTER TABLE x402_payments ADD COLUMN purchase TEXT;
      ALTER TABLE x402_payments ADD COLUMN session TEXT;
      ALTER TABLE x402_payments ADD COLUMN item TEXT;
      ALTER TABLE x402_payments ADD COLUMN claim TEXT;
      ALTER TABLE x402_payments ADD COLUMN credited_at BIGINT;
      CREATE INDEX x402_payments_reserved ON x402_payments (credited_at)
        WHERE purchase = 'reserved' AND session IS NULL
    `,
  },
  {
    // For operators who look at the newest.
    id: 'x402-004-newest',
    up: `
      CREATE INDEX x402_payments_newest ON x402_payments (created_at, id);
      CREATE INDEX x402_payments_by_state ON x402_payments (state, created_at, id)
    `,
  },
  {
    // Payers know the transaction. Payments from before are found by their id only.
    id: 'x402-005-transactions',
    up: `
      ALTER TABLE x402_payments ADD COLUMN transaction_id TEXT;
      CREATE INDEX x402_payments_by_transaction ON x402_payments (transaction_id) WHERE transaction_id IS NOT NULL
    `,
  },
];
