/**
 * The tables of the `gateway` database.
 *
 * The index is an inverted one. A *record* is a transaction or a data item. A *term* is something one can ask
 * for: a tag pair, an owner, a recipient, a bundle; terms are interned to small integers. A *posting* says
 * that a record has a term, and postings are clustered by (term, position), the order in which GraphQL
 * answers: a page is a scan of one term's postings, the other filters are probes into the same tree. Cost
 * follows the page, not the number of matches.
 *
 * Two terms exist for every record (`EVERY_TERM`, `INGESTED_TERM`) so that an unfiltered page is the same scan.
 * Rows of blocks above the fork depth may move (a fork makes them pending again); rows at or below the stable
 * height never do.
 *
 * Where the items of pruned records lie is kept for ever, in few bytes: see `places.ts`.
 */
import { eventMigrations } from '../../events/migrations.ts';
import type { Migration } from '../../storage/sql/sql.ts';

export const migrations: readonly Migration[] = [
  {
    id: 'gateway-001-index',
    up: `
CREATE TABLE terms (
  term SERIAL_KEY,
  kind BIGINT NOT NULL,
  hash BYTES NOT NULL,
  name BYTES,
  value BYTES,
  name_start BYTES,
  UNIQUE (kind, hash)
);
CREATE INDEX terms_name ON terms (name_start, term) WHERE name_start IS NOT NULL;
CREATE TABLE postings (
  term BIGINT NOT NULL,
  pos BIGINT NOT NULL,
  tie BIGINT NOT NULL,
  record BIGINT NOT NULL,
  PRIMARY KEY (term, pos, tie, record)
) CLUSTERED;
CREATE TABLE records (
  record SERIAL_KEY,
  id BYTES NOT NULL UNIQUE,
  kind BIGINT NOT NULL,
  height BIGINT,
  block_index BIGINT,
  pos BIGINT NOT NULL,
  indexed_at BIGINT NOT NULL,
  owner BIGINT NOT NULL,
  format BIGINT NOT NULL,
  signature_type BIGINT NOT NULL,
  target BYTES,
  anchor BYTES,
  quantity TEXT NOT NULL,
  reward TEXT NOT NULL,
  denomination BIGINT NOT NULL,
  data_size BIGINT NOT NULL,
  data_root BYTES,
  end_offset BIGINT,
  content_type TEXT,
  content_encoding TEXT,
  tags BYTES NOT NULL,
  root BIGINT,
  parent BIGINT,
  parent_offset BIGINT,
  item_offset BIGINT,
  data_offset BIGINT,
  item_size BIGINT,
  terms BYTES NOT NULL,
  hash BYTES,
  verified BIGINT NOT NULL
);
CREATE INDEX records_root ON records (root) WHERE root IS NOT NULL;
CREATE INDEX records_data_root ON records (data_root) WHERE data_root IS NOT NULL;
CREATE INDEX records_unverified ON records (record) WHERE verified = 0 AND kind = 0 AND data_size > 0;
CREATE TABLE signatures (
  record BIGINT PRIMARY KEY,
  signature BYTES NOT NULL
);
CREATE TABLE blocks (
  height BIGINT PRIMARY KEY,
  id BYTES NOT NULL UNIQUE,
  previous BYTES NOT NULL,
  timestamp BIGINT NOT NULL,
  tx_count BIGINT NOT NULL,
  block_size TEXT NOT NULL,
  weave_size TEXT NOT NULL
);
CREATE TABLE block_bodies (
  height BIGINT PRIMARY KEY,
  body BYTES NOT NULL
);
CREATE TABLE missing_transactions (
  id BYTES PRIMARY KEY,
  height BIGINT NOT NULL,
  block_index BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  next_try_at BIGINT NOT NULL
);
CREATE TABLE repositions (
  root BIGINT PRIMARY KEY
);
CREATE TABLE chain_state (
  name TEXT PRIMARY KEY,
  value BIGINT NOT NULL
);
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until BIGINT NOT NULL
);`,
  },
  {
    id: 'gateway-002-bundles',
    up: `
CREATE TABLE filters (
  filter SERIAL_KEY,
  text TEXT NOT NULL UNIQUE
);
CREATE TABLE bundles (
  id BYTES PRIMARY KEY,
  root BYTES NOT NULL,
  depth BIGINT NOT NULL,
  format BIGINT NOT NULL,
  state TEXT NOT NULL,
  priority BIGINT NOT NULL,
  bypass BIGINT NOT NULL,
  next_try_at BIGINT NOT NULL,
  holder TEXT,
  unbundle_filter BIGINT,
  index_filter BIGINT,
  previous_unbundle_filter BIGINT,
  previous_index_filter BIGINT,
  data_item_count BIGINT,
  matched_count BIGINT,
  duplicated_count BIGINT,
  invalid_count BIGINT,
  first_queued_at BIGINT,
  last_queued_at BIGINT,
  first_skipped_at BIGINT,
  last_skipped_at BIGINT,
  first_unbundled_at BIGINT,
  last_unbundled_at BIGINT,
  first_fully_indexed_at BIGINT,
  last_fully_indexed_at BIGINT,
  first_retried_at BIGINT,
  last_retried_at BIGINT,
  import_attempt_count BIGINT NOT NULL,
  retry_attempt_count BIGINT NOT NULL,
  last_error TEXT
);
CREATE INDEX bundles_queue ON bundles (state, priority, next_try_at);`,
  },
  {
    id: 'gateway-003-places',
    up: `
CREATE TABLE place_types (
  type SERIAL_KEY,
  hash BYTES NOT NULL UNIQUE,
  content_type TEXT,
  content_encoding TEXT
);
CREATE TABLE fresh_places (
  id BYTES NOT NULL,
  parent BIGINT NOT NULL,
  item_offset BIGINT NOT NULL,
  header_size BIGINT NOT NULL,
  data_size BIGINT NOT NULL,
  type BIGINT NOT NULL,
  PRIMARY KEY (id, parent)
) CLUSTERED;
CREATE TABLE places (
  first BYTES PRIMARY KEY,
  items BIGINT NOT NULL,
  packed BYTES NOT NULL
) CLUSTERED;
CREATE TABLE place_counts (
  parent BIGINT PRIMARY KEY,
  items BIGINT NOT NULL
);
ALTER TABLE bundles ADD COLUMN again BIGINT NOT NULL DEFAULT 0;
ALTER TABLE bundles ADD COLUMN pruned_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE bundles ADD COLUMN last_pruned_at BIGINT;`,
  },
  ...eventMigrations,
  {
    // What completeness is told from (`completeness.ts`). A bundle that failed before its tries were used up
    // was no bundle.
    id: 'gateway-004-completeness',
    up: `
CREATE TABLE block_ranges (
  first BIGINT PRIMARY KEY,
  last BIGINT NOT NULL
);
INSERT INTO block_ranges (first, last)
SELECT min(height), max(height)
FROM (SELECT height, height - row_number() OVER (ORDER BY height) AS island FROM blocks) numbered
GROUP BY island;
CREATE INDEX missing_transactions_height ON missing_transactions (height);
ALTER TABLE bundles ADD COLUMN height BIGINT;
ALTER TABLE bundles ADD COLUMN broken BIGINT NOT NULL DEFAULT 0;
UPDATE bundles SET broken = 1 WHERE state = 'failed' AND retry_attempt_count <= 24;
UPDATE bundles SET height = (SELECT r.height FROM records r WHERE r.id = bundles.root)
WHERE state <> 'unbundled' OR pruned_count > 0;
CREATE INDEX bundles_unread ON bundles (height)
WHERE CASE state WHEN 'queued' THEN 1 WHEN 'running' THEN 1 WHEN 'failed' THEN 1 - broken ELSE 0 END = 1;
CREATE INDEX bundles_left_out ON bundles (height) WHERE (state = 'skipped' OR pruned_count > 0);
CREATE INDEX bundles_nested ON bundles (root) WHERE depth > 0 AND state <> 'unbundled';`,
  },
  {
    // What was stable before is not told of.
    id: 'gateway-005-final-cursor',
    up: `
CREATE TABLE final_cursor (
  pos BIGINT NOT NULL,
  tie BIGINT NOT NULL,
  record BIGINT NOT NULL
);
INSERT INTO final_cursor (pos, tie, record)
SELECT (coalesce(max(value), -1) + 1) * 262144, -1, -1 FROM chain_state WHERE name = 'stable_height' AND value >= 0;`,
  },
  {
    // The ledger of what is moved to the history (`gateway/history/`). One row tells how far it reaches, how many batches it
    // has, and up to where the index was looked through for what may be moved.
    id: 'gateway-006-history',
    up: `
CREATE TABLE history_batches (
  batch BIGINT PRIMARY KEY,
  state TEXT NOT NULL,
  items BIGINT NOT NULL,
  records BYTES NOT NULL,
  digest BYTES,
  pruned BIGINT NOT NULL,
  pruned_pos BIGINT NOT NULL,
  pruned_tie BIGINT NOT NULL,
  first_height BIGINT NOT NULL,
  last_height BIGINT NOT NULL,
  made_at BIGINT NOT NULL
);
CREATE INDEX history_batches_open ON history_batches (batch) WHERE state <> 'moved';
CREATE INDEX history_batches_height ON history_batches (last_height);
CREATE TABLE history_extent (
  name TEXT NOT NULL,
  batches BIGINT NOT NULL,
  items BIGINT NOT NULL,
  first_pos BIGINT NOT NULL,
  last_pos BIGINT NOT NULL,
  first_ingested BIGINT NOT NULL,
  last_ingested BIGINT NOT NULL,
  walked_pos BIGINT NOT NULL,
  walked_tie BIGINT NOT NULL,
  walked_record BIGINT NOT NULL,
  walked_from BIGINT NOT NULL
);
INSERT INTO history_extent (name, batches, items, first_pos, last_pos, first_ingested, last_ingested,
  walked_pos, walked_tie, walked_record, walked_from)
VALUES ('', 0, 0, 9007199254740991, -1, 9007199254740991, -1, -1, -1, -1, 0);`,
  },
  {
    // Bits of many records at once (`segments.ts`). A release that does not note what it changes must not write beside this
    // one, so the step does not `expand`.
    id: 'gateway-007-segments',
    up: `
CREATE TABLE segments (
  segment SERIAL_KEY,
  begin_pos BIGINT NOT NULL,
  begin_tie BIGINT NOT NULL,
  begin_record BIGINT NOT NULL,
  end_pos BIGINT NOT NULL,
  end_tie BIGINT NOT NULL,
  end_record BIGINT NOT NULL,
  members BIGINT NOT NULL,
  first_ingested BIGINT NOT NULL,
  last_ingested BIGINT NOT NULL
);
CREATE UNIQUE INDEX segments_begin ON segments (begin_pos, begin_tie, begin_record);
CREATE UNIQUE INDEX segments_end ON segments (end_pos, end_tie, end_record);
CREATE TABLE segment_parts (
  segment BIGINT NOT NULL,
  part BIGINT NOT NULL,
  packed BYTES NOT NULL,
  PRIMARY KEY (segment, part)
) CLUSTERED;
CREATE TABLE segment_changes (
  change SERIAL_KEY,
  pos BIGINT NOT NULL
);
CREATE INDEX segment_changes_pos ON segment_changes (pos);`,
  },
];
