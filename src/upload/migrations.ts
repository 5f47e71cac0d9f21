import type { Migration } from '../storage/sql/sql.ts';

/**
 * In the database `ledger`, beside the balances: an item and what it cost are one transaction.
 *
 * An item's bytes are its header in `upload_heads`, with the payload behind it when that is small, followed by
 * the blobs that `segments` lists.
 */
export const uploadMigrations: readonly Migration[] = [
  {
    id: 'upload-001-items',
    up: `
      CREATE TABLE upload_items (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        signer TEXT NOT NULL,
        signature_type BIGINT NOT NULL,
        size BIGINT NOT NULL,
        payload_start BIGINT NOT NULL,
        content_type TEXT NOT NULL,
        winc AMOUNT NOT NULL,
        received_at BIGINT NOT NULL,
        deadline_height BIGINT NOT NULL,
        answer TEXT,
        segments TEXT,
        held BIGINT NOT NULL,
        state TEXT NOT NULL,
        bundle TEXT,
        position BIGINT,
        bundle_offset BIGINT,
        failures BIGINT NOT NULL,
        failed_reason TEXT,
        permanent_at BIGINT,
        announce_at BIGINT
      );
      CREATE INDEX upload_items_new ON upload_items (received_at, id) WHERE state = 'new';
      CREATE INDEX upload_items_bundled ON upload_items (bundle, position) WHERE bundle IS NOT NULL;
      CREATE INDEX upload_items_announce ON upload_items (announce_at) WHERE announce_at IS NOT NULL;
      CREATE INDEX upload_items_let_go ON upload_items (permanent_at) WHERE permanent_at IS NOT NULL AND held = 1;
      CREATE TABLE upload_heads (
        id TEXT PRIMARY KEY,
        bytes BYTES NOT NULL
      );
      CREATE TABLE upload_blobs (
        digest TEXT PRIMARY KEY,
        uses BIGINT NOT NULL,
        deleting BIGINT NOT NULL,
        changed_at BIGINT NOT NULL
      );
      CREATE INDEX upload_blobs_unused ON upload_blobs (changed_at) WHERE uses = 0;
      CREATE TABLE upload_bundles (
        plan TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        item_count BIGINT NOT NULL,
        size BIGINT NOT NULL,
        tx_id TEXT,
        tx TEXT,
        anchor_height BIGINT,
        posted_at BIGINT,
        seeded_at BIGINT,
        seedings BIGINT NOT NULL,
        block_height BIGINT,
        attempts BIGINT NOT NULL,
        due_at BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        changed_at BIGINT NOT NULL
      );
      CREATE INDEX upload_bundles_due ON upload_bundles (due_at) WHERE state <> 'permanent' AND state <> 'dropped';
      CREATE TABLE upload_leases (
        name TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        until BIGINT NOT NULL
      );
      CREATE TABLE upload_free_bytes (
        address TEXT PRIMARY KEY,
        bytes BIGINT NOT NULL,
        window_start BIGINT NOT NULL
      );
    `,
  },
  {
    id: 'upload-002-multipart',
    up: `
      CREATE TABLE upload_sessions (
        id TEXT PRIMARY KEY,
        token TEXT NOT NULL,
        chunk_size BIGINT,
        total_bytes BIGINT,
        state TEXT NOT NULL,
        paid_by TEXT NOT NULL,
        client_address TEXT NOT NULL,
        payment TEXT,
        request_key TEXT UNIQUE,
        item_id TEXT,
        failure TEXT,
        claimed_until BIGINT NOT NULL,
        created_at BIGINT NOT NULL,
        changed_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL
      );
      CREATE INDEX upload_sessions_open ON upload_sessions (client_address) WHERE state = 'open';
      CREATE INDEX upload_sessions_finalizing ON upload_sessions (claimed_until) WHERE state = 'finalizing';
      CREATE INDEX upload_sessions_expiry ON upload_sessions (expires_at);
      CREATE TABLE upload_parts (
        session TEXT NOT NULL,
        start BIGINT NOT NULL,
        size BIGINT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (session, start)
      );
    `,
  },
  {
    id: 'upload-003-sessions-with-parts',
    up: `
      CREATE INDEX upload_sessions_holding ON upload_sessions (client_address)
        WHERE state IN ('open', 'finalizing', 'UNDERFUNDED');
      DROP INDEX upload_sessions_open;
    `,
  },
  {
    // `misses`: looks in a row that did not find the item's bytes. `unreadable`: looks in a row at a mined bundle
    // whose chunks could not be read. Both had shared counters that other failures raised too.
    id: 'upload-004-counters-of-one-meaning',
    up: `
      ALTER TABLE upload_items ADD COLUMN misses BIGINT NOT NULL DEFAULT 0;
      ALTER TABLE upload_bundles ADD COLUMN unreadable BIGINT NOT NULL DEFAULT 0;
    `,
  },
  {
    // The receipt's signature, and the address of the key that made it: NULL until it is first asked for.
    id: 'upload-005-receipt-signatures',
    up: `
      ALTER TABLE upload_items ADD COLUMN receipt_signature BYTES;
      ALTER TABLE upload_items ADD COLUMN receipt_key TEXT;
    `,
  },
  {
    // `part_bytes`: what the parts of a session are together. `notes`: uploads that wrote a blob and do not use it yet.
    id: 'upload-006-part-bytes',
    up: `
      ALTER TABLE upload_sessions ADD COLUMN part_bytes BIGINT NOT NULL DEFAULT 0;
      UPDATE upload_sessions SET part_bytes = (
        SELECT CAST(COALESCE(SUM(upload_parts.size), 0) AS BIGINT) FROM upload_parts
        WHERE upload_parts.session = upload_sessions.id
      );
      ALTER TABLE upload_blobs ADD COLUMN notes BIGINT NOT NULL DEFAULT 0;
    `,
  },
  {
    // Who finalizes a session, so that nobody else ends it: one name for each time it is taken up.
    id: 'upload-007-session-claims',
    up: `
      ALTER TABLE upload_sessions ADD COLUMN claim TEXT;
    `,
  },
  {
    // Every bundle that was read looks for items of it to forgive, and nearly always there are none.
    id: 'upload-008-missed-items',
    up: 'CREATE INDEX upload_items_missed ON upload_items (bundle) WHERE misses > 0',
  },
  {
    // For operators: why a bundle waits, how deep it is, and lists that do not look through everything.
    id: 'upload-009-bundle-reports',
    up: `
      ALTER TABLE upload_bundles ADD COLUMN last_error TEXT;
      ALTER TABLE upload_bundles ADD COLUMN last_error_at BIGINT;
      ALTER TABLE upload_bundles ADD COLUMN confirmations BIGINT;
      CREATE INDEX upload_bundles_newest ON upload_bundles (created_at, plan);
      CREATE INDEX upload_bundles_by_state ON upload_bundles (state, created_at, plan);
      CREATE INDEX upload_bundles_by_transaction ON upload_bundles (tx_id) WHERE tx_id IS NOT NULL;
      CREATE INDEX upload_items_failed ON upload_items (received_at, id) WHERE state = 'failed';
    `,
  },
  {
    // What each gateway is still to be told of, and which have an item: `told` has a bit for each by its number. NULL: from
    // before that was kept. The gateway of the service itself is number 0, wherever it is.
    id: 'upload-010-gateways-told',
    up: `
      ALTER TABLE upload_items ADD COLUMN told BIGINT;
      CREATE TABLE upload_gateways (
        number BIGINT PRIMARY KEY,
        url TEXT NOT NULL UNIQUE,
        dropped BIGINT NOT NULL
      );
      INSERT INTO upload_gateways (number, url, dropped) VALUES (0, '', 0);
      CREATE TABLE upload_announcements (
        id TEXT NOT NULL,
        gateway BIGINT NOT NULL,
        received_at BIGINT NOT NULL,
        PRIMARY KEY (id, gateway)
      );
      CREATE INDEX upload_announcements_newest ON upload_announcements (gateway, received_at, id);
    `,
  },
  {
    // Looks at a bundle after it became permanent: when the next is due (NULL: none), how many there were, what was wrong at
    // the last and since when, and how often in a row that could not be mended.
    id: 'upload-011-watched-bundles',
    up: `
      ALTER TABLE upload_bundles ADD COLUMN look_at BIGINT;
      ALTER TABLE upload_bundles ADD COLUMN looks BIGINT NOT NULL DEFAULT 0;
      ALTER TABLE upload_bundles ADD COLUMN looked_at BIGINT;
      ALTER TABLE upload_bundles ADD COLUMN damage TEXT;
      ALTER TABLE upload_bundles ADD COLUMN damaged_at BIGINT;
      ALTER TABLE upload_bundles ADD COLUMN mend_tries BIGINT NOT NULL DEFAULT 0;
      ALTER TABLE upload_bundles ADD COLUMN chunks_mended BIGINT NOT NULL DEFAULT 0;
      UPDATE upload_bundles SET look_at = changed_at + 86400000 WHERE state = 'permanent';
      CREATE INDEX upload_bundles_to_look_at ON upload_bundles (look_at) WHERE look_at IS NOT NULL;
      CREATE INDEX upload_bundles_damaged ON upload_bundles (plan) WHERE damage IS NOT NULL;
    `,
  },
  {
    // The transaction of a bundle that the wallets in it were told of. Those of before are not told any more.
    id: 'upload-012-told-bundles',
    up: `
      ALTER TABLE upload_bundles ADD COLUMN told_tx_id TEXT;
      UPDATE upload_bundles SET told_tx_id = tx_id WHERE posted_at IS NOT NULL;
    `,
  },
  {
    // Who works on a bundle, and until when by the database's clock: one process at a time, each bundle by itself.
    // `not_before`: an item whose bytes were not found waits so long for another bundle.
    id: 'upload-013-leases-of-bundles',
    up: `
      ALTER TABLE upload_bundles ADD COLUMN holder TEXT;
      ALTER TABLE upload_bundles ADD COLUMN held_until BIGINT;
      ALTER TABLE upload_items ADD COLUMN not_before BIGINT;
    `,
  },
  {
    // One row after a restore, until the bundles that were posted since the backup were looked for. `height`: of the chain at the
    // first look. `others`: of a bundle that was found so, its items that are not here; NULL for those that were made here.
    id: 'upload-014-restores',
    up: `
      CREATE TABLE upload_restores (
        one BIGINT PRIMARY KEY,
        since BIGINT NOT NULL,
        restored_at BIGINT NOT NULL,
        height BIGINT
      );
      ALTER TABLE upload_bundles ADD COLUMN others BIGINT;
    `,
  },
  {
    // The time of the newest item that was restored: clocks may have been ahead of that of the restore.
    id: 'upload-015-held-until-looked-for',
    up: 'ALTER TABLE upload_restores ADD COLUMN newest_at BIGINT;',
  },
  {
    // `missed`: the blob that was not found at the last look at an item, or at the parts of an upload; `misses` counts its misses.
    id: 'upload-016-missing-blobs',
    up: `
      ALTER TABLE upload_items ADD COLUMN missed TEXT;
      ALTER TABLE upload_sessions ADD COLUMN misses BIGINT NOT NULL DEFAULT 0;
      ALTER TABLE upload_sessions ADD COLUMN missed TEXT;
    `,
  },
  {
    // When the first of `misses`, or of `unreadable`, was by the database's clock; NULL: before this was noted.
    id: 'upload-017-missed-since',
    up: `
      ALTER TABLE upload_bundles ADD COLUMN unreadable_since BIGINT;
      ALTER TABLE upload_items ADD COLUMN missed_since BIGINT;
      ALTER TABLE upload_sessions ADD COLUMN missed_since BIGINT;
    `,
  },
];
