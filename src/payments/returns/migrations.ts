import type { Migration } from '../../storage/sql/sql.ts';

/** In the `ledger` database, beside the balances that returns change. */
export const returnsMigrations: readonly Migration[] = [
  {
    id: 'returns-001-returns',
    up: `
      CREATE TABLE payment_returns (
        id TEXT PRIMARY KEY,
        request_key TEXT NOT NULL,
        address TEXT NOT NULL,
        address_type TEXT NOT NULL,
        kind TEXT NOT NULL,
        payment TEXT NOT NULL,
        quote_id TEXT,
        chain TEXT,
        token TEXT NOT NULL,
        winc AMOUNT NOT NULL,
        amount AMOUNT NOT NULL,
        recipient TEXT NOT NULL,
        state TEXT NOT NULL,
        reference TEXT,
        wire TEXT,
        queue TEXT,
        valid_until BIGINT,
        tries BIGINT NOT NULL,
        reason TEXT,
        due_at BIGINT NOT NULL,
        leased_until BIGINT NOT NULL,
        leases BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        changed_at BIGINT NOT NULL
      );
      CREATE UNIQUE INDEX payment_returns_by_request ON payment_returns (request_key);
      CREATE UNIQUE INDEX payment_returns_by_reference ON payment_returns (reference) WHERE reference IS NOT NULL;
      CREATE INDEX payment_returns_open ON payment_returns (due_at) WHERE state IN ('due', 'sent');
      CREATE INDEX payment_returns_by_wallet ON payment_returns (address, created_at, id);
      CREATE INDEX payment_returns_by_payment ON payment_returns (payment);
      CREATE INDEX payment_returns_newest ON payment_returns (created_at, id);
      CREATE INDEX payment_returns_by_state ON payment_returns (state, created_at, id)
    `,
  },
];
