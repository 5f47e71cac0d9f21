import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readConfig } from '../../config/config.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { FreeAllowanceUsedUp } from '../errors.ts';
import { testMigrations } from '../testing.ts';
import { FreeTier } from './free-tier.ts';

const tier = new FreeTier(
  readConfig({ FREE_UPLOAD_LIMIT: '600', FREE_BYTES_PER_IP: '1000', FREE_BYTES_PER_IP_TTL_SECS: '60' }),
);
const count = (sql: Sql, size: number, now: number, client = '10.0.0.1') =>
  sql.transaction((tx) => tier.count(tx, size, 'wallet', client, now));
const rows = (sql: Sql) =>
  sql.all('SELECT address, bytes, window_start FROM upload_free_bytes ORDER BY address');

describe('the free allowance of a network address', () => {
  forEachEngine((_engine, open) => {
    it('can be used to its last byte, and not beyond', async () => {
      const sql = await open(testMigrations);
      await count(sql, 400, 0);
      await count(sql, 600, 59_999);
      assert.deepEqual(await rows(sql), [{ address: '10.0.0.1', bytes: 1_000, window_start: 0 }]);
      await assert.rejects(count(sql, 1, 59_999), (error) => {
        assert.ok(error instanceof FreeAllowanceUsedUp);
        assert.equal(error.status, 429);
        assert.equal(error.retryAfter, 1);
        return true;
      });
      assert.deepEqual(await rows(sql), [{ address: '10.0.0.1', bytes: 1_000, window_start: 0 }]);
      await count(sql, 1_000, 59_999, '10.0.0.2');
    });

    it('is whole again when its window is over, not before', async () => {
      const sql = await open(testMigrations);
      await count(sql, 1_000, 0);
      await assert.rejects(count(sql, 1, 59_999), FreeAllowanceUsedUp);
      await count(sql, 1_000, 60_000);
      await assert.rejects(count(sql, 1_001, 120_000), FreeAllowanceUsedUp);
      assert.deepEqual(await rows(sql), [{ address: '10.0.0.1', bytes: 1_000, window_start: 60_000 }]);
    });
  });

  it('is for items up to the limit, the limit included', () => {
    assert.equal(tier.covers(600, 'wallet'), true);
    assert.equal(tier.covers(601, 'wallet'), false);
  });
});
