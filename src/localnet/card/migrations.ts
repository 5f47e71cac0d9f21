import type { Migration } from '../../storage/sql/sql.ts';

/** The provider's own database: objects as documents, events, deliveries, and replies kept for idempotency. */
export const migrations: readonly Migration[] = [
  {
    id: 'card-001-provider',
    up: `
      CREATE TABLE objects (
        seq SERIAL_KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        parent TEXT,
        body TEXT NOT NULL
      );
      CREATE INDEX objects_by_parent ON objects (parent, kind);
      CREATE TABLE checkouts (
        id TEXT PRIMARY KEY,
        is_open BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        line_items TEXT NOT NULL,
        intent TEXT NOT NULL
      );
      CREATE INDEX checkouts_open ON checkouts (is_open, expires_at);
      CREATE TABLE events (
        seq SERIAL_KEY,
        id TEXT NOT NULL UNIQUE,
        type TEXT NOT NULL,
        created BIGINT NOT NULL,
        body TEXT NOT NULL
      );
      CREATE TABLE deliveries (
        seq SERIAL_KEY,
        event_id TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts BIGINT NOT NULL,
        due_at BIGINT NOT NULL
      );
      CREATE INDEX deliveries_due ON deliveries (state, due_at);
      CREATE TABLE replies (
        key TEXT PRIMARY KEY,
        fingerprint TEXT NOT NULL,
        status BIGINT NOT NULL,
        body TEXT NOT NULL,
        created BIGINT NOT NULL
      );
      CREATE TABLE settings (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
      )
    `,
  },
  {
    id: 'card-002-webhook-endpoints',
    up: `
      ALTER TABLE deliveries ADD COLUMN endpoint TEXT;
      ALTER TABLE deliveries ADD COLUMN answer TEXT;
      CREATE INDEX objects_by_kind ON objects (kind, seq);
      CREATE TABLE endpoint_secrets (
        id TEXT PRIMARY KEY,
        secret TEXT NOT NULL
      )
    `,
  },
];
