import type { Migration } from '../../storage/sql/sql.ts';

/** Part of the `ledger` database. */
export const pricingMigrations: readonly Migration[] = [
  {
    id: 'pricing-001-catalogue',
    up: `
      CREATE TABLE pricing_catalogue (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        description TEXT NOT NULL,
        operator TEXT NOT NULL,
        magnitude TEXT NOT NULL,
        priority BIGINT NOT NULL,
        starts_at BIGINT NOT NULL,
        ends_at BIGINT,
        exclusivity TEXT,
        byte_threshold BIGINT NOT NULL DEFAULT 0,
        winc_limit AMOUNT NOT NULL,
        limit_interval_ms BIGINT NOT NULL DEFAULT 0,
        code TEXT,
        target_group TEXT,
        max_uses BIGINT NOT NULL DEFAULT 0,
        minimum_payment BIGINT NOT NULL DEFAULT 0,
        maximum_discount BIGINT NOT NULL DEFAULT 0
      );
      CREATE INDEX pricing_catalogue_code ON pricing_catalogue (code, starts_at);
      CREATE TABLE pricing_upload_uses (
        spending TEXT NOT NULL,
        catalogue_id TEXT NOT NULL,
        address TEXT NOT NULL,
        amount AMOUNT NOT NULL,
        used_at BIGINT NOT NULL,
        PRIMARY KEY (spending, catalogue_id)
      );
      CREATE INDEX pricing_upload_uses_by_user ON pricing_upload_uses (address, catalogue_id, used_at);
      CREATE TABLE pricing_promo_uses (
        quote_id TEXT NOT NULL,
        catalogue_id TEXT NOT NULL,
        code TEXT NOT NULL,
        address TEXT NOT NULL,
        state TEXT NOT NULL,
        expires_at BIGINT NOT NULL,
        PRIMARY KEY (quote_id, catalogue_id)
      );
      CREATE INDEX pricing_promo_uses_by_row ON pricing_promo_uses (catalogue_id, state);
      CREATE UNIQUE INDEX pricing_promo_uses_once ON pricing_promo_uses (catalogue_id, address) WHERE state = 'used';
    `,
  },
];
