import type { Migration } from '../storage/sql/sql.ts';

/**
 * The log of events, in each database whose changes others can follow. `entry` says in which order rows were written,
 * `seq` in which order they are told: on PostgreSQL transactions commit in another order than they wrote.
 */
export const eventMigrations: readonly Migration[] = [
  {
    id: 'events-001-log',
    up: `
CREATE TABLE event_log (
  entry SERIAL_KEY,
  seq BIGINT UNIQUE,
  topic TEXT NOT NULL,
  subject TEXT NOT NULL,
  body BYTES NOT NULL,
  made_at BIGINT NOT NULL
);
CREATE INDEX event_log_unnumbered ON event_log (entry) WHERE seq IS NULL;
CREATE INDEX event_log_subject ON event_log (subject, seq) WHERE subject <> '';
CREATE TABLE event_state (
  name TEXT PRIMARY KEY,
  value BIGINT NOT NULL
);
INSERT INTO event_state (name, value) VALUES ('numbered', 0);
INSERT INTO event_state (name, value) VALUES ('pruned', 0);`,
  },
];
