import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { AuditLog } from '../../../kernel/audit-log.ts';
import { silentLog } from '../../../kernel/testing.ts';
import { DatabaseUnavailable } from '../../../storage/sql/sql.ts';
import { forEachEngine, losing } from '../../../storage/sql/testing.ts';
import { SqlGatewayIndex } from '../../chain-index/sql-index.ts';
import { gatewayMigrations } from '../../migrations.ts';
import { BlockStore } from './block-store.ts';
import { LiveBlocklist } from './live-blocklist.ts';

forEachEngine((_engine, open) => {
  test('copies of what was blocked just before the database went away are dropped when it is back', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-live-blocklist-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    let isAway = false;
    const sql = await open(gatewayMigrations);
    const dropped: string[] = [];
    const list = new LiveBlocklist({
      store: new BlockStore(sql),
      index: new SqlGatewayIndex(losing(sql, () => isAway)),
      audit: new AuditLog(join(folder, 'audit.jsonl'), 'gateway', silentLog),
      log: silentLog,
      dropCopies: async (hashes) => void dropped.push(...hashes),
    });
    const hash = 'h'.repeat(43);
    isAway = true;
    const blocking = list.block([['hash', hash]], {}, { who: 'key 1', via: 'api' });
    await assert.rejects(blocking, DatabaseUnavailable);
    assert.ok(list.blocksHash(hash), 'it holds');
    assert.deepEqual(dropped, []);
    isAway = false;
    await list.refresh();
    await list.refresh();
    assert.deepEqual(dropped, [hash]);
  });
});
