import { eventMigrations } from '../events/migrations.ts';
import { pricingMigrations } from '../pricing/catalogue/migrations.ts';
import type { Migration } from '../storage/sql/sql.ts';
import { signatureMigrations } from './signatures/migrations.ts';

/**
 * The ledger's tables, in the database `ledger`, after those of pricing, whose catalogue counts uses with
 * the spending.
 */
export const creditsMigrations: readonly Migration[] = [
  ...pricingMigrations,
  {
    id: 'credits-001-ledger',
    up: `
      CREATE TABLE credits_accounts (
        address TEXT PRIMARY KEY,
        address_type TEXT NOT NULL,
        balance AMOUNT NOT NULL,
        created_at BIGINT NOT NULL
      );
      CREATE TABLE credits_entries (
        sequence SERIAL_KEY,
        account TEXT NOT NULL,
        amount AMOUNT NOT NULL,
        reason TEXT NOT NULL,
        change_id TEXT NOT NULL,
        line BIGINT NOT NULL,
        payment TEXT,
        created_at BIGINT NOT NULL
      );
      CREATE UNIQUE INDEX credits_entries_by_change ON credits_entries (change_id, reason, line);
      CREATE INDEX credits_entries_by_account ON credits_entries (account, sequence);
      CREATE INDEX credits_payments_by_account ON credits_entries (account, sequence) WHERE payment IS NOT NULL;
      CREATE TABLE credits_spendings (
        id TEXT NOT NULL,
        reason TEXT NOT NULL,
        attempt BIGINT NOT NULL,
        state TEXT NOT NULL,
        signer TEXT NOT NULL,
        amount AMOUNT NOT NULL,
        network_winc AMOUNT,
        split TEXT,
        created_at BIGINT NOT NULL,
        changed_at BIGINT NOT NULL,
        PRIMARY KEY (id, reason)
      );
      CREATE TABLE credits_approvals (
        id TEXT PRIMARY KEY,
        payer TEXT NOT NULL,
        approved TEXT NOT NULL,
        amount AMOUNT NOT NULL,
        used AMOUNT NOT NULL,
        status TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        ended_at BIGINT,
        revoked_by TEXT
      );
      CREATE INDEX credits_approvals_given ON credits_approvals (payer, approved);
      CREATE INDEX credits_approvals_received ON credits_approvals (approved) WHERE status = 'active';
      CREATE INDEX credits_approvals_expiring ON credits_approvals (expires_at) WHERE status = 'active';
    `,
  },
  {
    id: 'credits-002-active-given',
    up: `CREATE INDEX credits_approvals_active_given ON credits_approvals (payer) WHERE status = 'active';`,
  },
  {
    id: 'credits-003-notes',
    up: `ALTER TABLE credits_entries ADD COLUMN note TEXT;`,
  },
  {
    id: 'credits-004-payments',
    up: `CREATE INDEX credits_entries_payments ON credits_entries (sequence) WHERE payment IS NOT NULL;`,
  },
  {
    id: 'credits-005-forms',
    // A row with `same_as` is no account: its address is another form of that one's wallet.
    up: `
      ALTER TABLE credits_accounts ADD COLUMN same_as TEXT;
      CREATE INDEX credits_accounts_forms ON credits_accounts (same_as) WHERE same_as IS NOT NULL;
    `,
  },
  {
    id: 'credits-006-spent',
    up: `CREATE INDEX credits_spendings_held ON credits_spendings (signer) WHERE state = 'reserved';`,
  },
  {
    // With the payments, what came into an account: see `ledger/lots.ts`.
    id: 'credits-007-excess',
    up: `CREATE INDEX credits_entries_excess ON credits_entries (account, sequence) WHERE reason = 'arns_excess_payment';`,
  },
  {
    // Below what balance a wallet wants to be told; null: as the service has it for everybody, 0: never.
    id: 'credits-008-notices',
    up: 'ALTER TABLE credits_accounts ADD COLUMN notice_winc AMOUNT',
  },
  ...signatureMigrations,
  ...eventMigrations,
];
