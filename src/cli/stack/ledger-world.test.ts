import assert from 'node:assert/strict';
import { it } from 'node:test';
import { StartupError } from '../../kernel/errors.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { ledgerMigrations } from '../ledger-database.ts';
import { claimLedger } from './ledger-world.ts';

forEachEngine((_engine, open) => {
  it('a ledger belongs to the world of its first start, whoever starts next', async () => {
    const sql = await open(ledgerMigrations);
    // Several processes may be the first.
    await Promise.all(Array.from({ length: 4 }, () => claimLedger(sql, 'public')));
    for (const world of ['local', 'testnet'] as const) {
      await assert.rejects(claimLedger(sql, world), (error) => {
        assert.ok(error instanceof StartupError);
        assert.match(error.message, /holds credits of WORLD=public: set DATABASE_URL or DATA_DIR to another/);
        return true;
      });
    }
    await claimLedger(sql, 'public');
    assert.deepEqual(await sql.all('SELECT world FROM ledger_world'), [{ world: 'public' }]);
  });
});
