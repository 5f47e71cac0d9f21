import type { Migration } from '../../storage/sql/sql.ts';

/** In the `ledger` database, beside the balances that payments change. */
export const cardMigrations: readonly Migration[] = [
  {
    id: 'card-001-quotes',
    up: `
      CREATE TABLE card_quotes (
        id TEXT PRIMARY KEY,
        purpose TEXT NOT NULL,
        state TEXT NOT NULL,
        method TEXT NOT NULL,
        session_id TEXT,
        intent_id TEXT,
        address TEXT NOT NULL,
        address_type TEXT NOT NULL,
        currency TEXT NOT NULL,
        amount BIGINT NOT NULL,
        quoted_amount BIGINT NOT NULL,
        winc AMOUNT NOT NULL,
        adjustments TEXT NOT NULL,
        referer TEXT,
        details TEXT NOT NULL,
        expires_at BIGINT NOT NULL,
        payable_until BIGINT NOT NULL,
        receipt_id TEXT,
        paid_amount BIGINT,
        taken_back AMOUNT NOT NULL,
        reversals BIGINT NOT NULL,
        failure TEXT,
        refund_due BIGINT NOT NULL,
        tickets BIGINT NOT NULL,
        applied_ticket BIGINT NOT NULL,
        due_at BIGINT NOT NULL,
        attempts BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        changed_at BIGINT NOT NULL
      );
      CREATE UNIQUE INDEX card_quotes_by_intent ON card_quotes (intent_id);
      CREATE UNIQUE INDEX card_quotes_by_session ON card_quotes (session_id);
      CREATE UNIQUE INDEX card_quotes_by_receipt ON card_quotes (receipt_id);
      CREATE INDEX card_quotes_open ON card_quotes (due_at) WHERE state IN ('opening', 'quoted') OR refund_due = 1;
      CREATE INDEX card_quotes_charged_back ON card_quotes (address) WHERE state = 'charged_back';
      CREATE TABLE card_events (
        id TEXT PRIMARY KEY,
        type TEXT NOT NULL,
        quote_id TEXT,
        intent_id TEXT,
        session_id TEXT,
        created BIGINT NOT NULL,
        state TEXT NOT NULL,
        attempts BIGINT NOT NULL,
        due_at BIGINT NOT NULL,
        received_at BIGINT NOT NULL
      );
      CREATE INDEX card_events_waiting ON card_events (due_at) WHERE state = 'waiting';
      CREATE TABLE card_cursor (
        name TEXT PRIMARY KEY,
        value BIGINT NOT NULL
      )
    `,
  },
  {
    id: 'card-002-old-events',
    up: `
      CREATE INDEX card_events_ended ON card_events (received_at) WHERE state <> 'waiting'
    `,
  },
  {
    id: 'card-003-refund-tries',
    up: `
      ALTER TABLE card_quotes ADD COLUMN undelivered BIGINT NOT NULL DEFAULT 0;
      ALTER TABLE card_quotes ADD COLUMN refund_tries BIGINT NOT NULL DEFAULT 0;
      ALTER TABLE card_quotes ADD COLUMN refund_after BIGINT NOT NULL DEFAULT 0;
      UPDATE card_quotes SET undelivered = 1 WHERE state = 'failed' OR refund_due = 1
    `,
  },
  {
    // Whoever was charged before who owes was known is given back what comes back.
    id: 'card-004-debtors',
    up: `
      ALTER TABLE card_quotes ADD COLUMN debtor TEXT;
      ALTER TABLE card_quotes ADD COLUMN debtor_type TEXT;
      UPDATE card_quotes SET debtor = address, debtor_type = address_type
        WHERE purpose = 'top-up' OR taken_back <> '0';
      DROP INDEX card_quotes_charged_back;
      CREATE INDEX card_quotes_disputed ON card_quotes (debtor) WHERE state = 'charged_back'
    `,
  },
  {
    // For operators who look at the newest.
    id: 'card-005-newest',
    up: `
      CREATE INDEX card_quotes_newest ON card_quotes (created_at, id);
      CREATE INDEX card_quotes_by_state ON card_quotes (state, created_at, id)
    `,
  },
  {
    // What returns have taken of the payment's winc: see `payments/returns`.
    id: 'card-006-returned',
    up: `
      ALTER TABLE card_quotes ADD COLUMN returned AMOUNT NOT NULL DEFAULT '0';
      CREATE INDEX card_quotes_returned ON card_quotes (id) WHERE returned <> '0'
    `,
  },
  {
    // Events of payments whose quote is not here are kept until somebody has dealt with them; what payments of this
    // ledger are marked with at the provider.
    id: 'card-007-open-events',
    up: `
      CREATE INDEX card_events_open ON card_events (received_at, id) WHERE state = 'open';
      CREATE TABLE card_ledger (
        only_row BIGINT PRIMARY KEY,
        id TEXT NOT NULL
      )
    `,
  },
];
