import type { Migration } from '../storage/sql/sql.ts';

/**
 * The log of events, in each database whose changes others can follow. `entry` says in which order rows were written,
 * `seq` in which order they are told: on PostgreSQL transactions commit in another order than they wrote. What is not
 * numbered yet is in one index alone: whoever appends pays for the others when the row is numbered, in a batch.
 */
export const eventMigrations: readonly Migration[] = [
  {
    id: 'events-001-log',
    up: `
CREATE TABLE event_log (
  entry SERIAL_KEY,
  seq BIGINT,
  topic TEXT NOT NULL,
  subject TEXT NOT NULL,
  body BYTES NOT NULL,
  made_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX event_log_numbered ON event_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX event_log_unnumbered ON event_log (entry) WHERE seq IS NULL;
CREATE INDEX event_log_subject ON event_log (subject, seq) WHERE subject <> '' AND seq IS NOT NULL;
CREATE TABLE event_state (
  name TEXT PRIMARY KEY,
  value BIGINT NOT NULL
);
INSERT INTO event_state (name, value) VALUES ('numbered', 0);
INSERT INTO event_state (name, value) VALUES ('pruned', 0);`,
  },
  {
    // `version` counts the changes by its owner, `hooks` in event_state those of all hooks: other processes look at them.
    // `message` is what is on its way: it has the events behind `cursor` up to `message_to`, whenever it is sent.
    id: 'events-002-hooks',
    up: `
CREATE TABLE event_hooks (
  id TEXT PRIMARY KEY,
  subject TEXT NOT NULL,
  url TEXT NOT NULL,
  description TEXT NOT NULL,
  query TEXT NOT NULL,
  secret TEXT NOT NULL,
  old_secret TEXT,
  old_secret_until BIGINT,
  state TEXT NOT NULL,
  version BIGINT NOT NULL,
  cursor TEXT NOT NULL,
  ping BIGINT NOT NULL,
  message TEXT,
  message_to TEXT,
  message_at BIGINT,
  failures BIGINT NOT NULL,
  failing_since BIGINT,
  next_try_at BIGINT NOT NULL,
  last_try_at BIGINT,
  last_taken_at BIGINT,
  last_status BIGINT,
  last_error TEXT,
  delivered BIGINT NOT NULL,
  holder TEXT,
  held_until BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX event_hooks_subject ON event_hooks (subject, created_at);
CREATE TABLE event_dead_letters (
  id TEXT PRIMARY KEY,
  hook TEXT NOT NULL,
  body TEXT NOT NULL,
  events BIGINT NOT NULL,
  status BIGINT,
  error TEXT NOT NULL,
  made_at BIGINT NOT NULL,
  dead_at BIGINT NOT NULL
);
CREATE INDEX event_dead_letters_hook ON event_dead_letters (hook, dead_at);
CREATE INDEX event_dead_letters_dead ON event_dead_letters (dead_at);
INSERT INTO event_state (name, value) VALUES ('hooks', 0);`,
  },
];
