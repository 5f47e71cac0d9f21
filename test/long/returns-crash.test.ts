import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { assertSound } from '../../src/credits/ledger/testing.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { checkReturns } from '../../src/payments/returns/check.ts';
import { createCreditReturns } from '../../src/payments/returns/credit-returns.ts';
import { dayMs, returnsTestMigrations, testRules } from '../../src/payments/returns/testing.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { itOnEngine } from '../../src/storage/sql/testing.ts';
import { killedAfter } from '../support/killed-after.ts';
import { durableBank } from '../support/returns-bank.ts';

const ROUNDS = 3;

/** Finishes what the killed process left, and asserts that each return was sent exactly once. */
async function finish(databaseUrl: string | undefined, folder: string, name: string, acknowledged: string[]) {
  const sql = await openDatabase({ databaseUrl, dataDir: folder, name, migrations: returnsTestMigrations });
  const bank = await durableBank(join(folder, 'bank.db'));
  try {
    const credits = createCredits({ sql });
    await assertSound(credits);
    assert.deepEqual(await checkReturns(sql), []);
    // Whatever the killed process had a lease on is free by then.
    const now = () => Date.now() + dayMs;
    const returns = createCreditReturns(testRules, { sql, credits, log: silentLog, ways: bank.ways, now });
    const open = async () =>
      (await sql.all("SELECT id FROM payment_returns WHERE state IN ('due', 'sent')")).length;
    while ((await open()) > 0) {
      returns.start();
      await returns.settled();
      await returns.stop();
    }
    const rows = await sql.all<{ id: string; state: string; amount: string }>(
      'SELECT id, state, amount FROM payment_returns',
    );
    const arrived = await bank.transfers();
    const sorted = (list: { id: string; amount: string }[]) =>
      list.map(({ id, amount }) => `${id} ${amount}`).sort();
    assert.ok(rows.every(({ state }) => state === 'confirmed'));
    assert.deepEqual(
      sorted(arrived.map(({ return_id: id, amount }) => ({ id, amount }))),
      sorted(rows.map(({ id, amount }) => ({ id, amount: String(amount) }))),
    );
    const known = new Set(rows.map(({ id }) => id));
    assert.ok(acknowledged.every((id) => known.has(id)));
    await assertSound(credits);
    assert.deepEqual(await checkReturns(sql), []);
  } finally {
    await sql.close();
    await bank.close();
  }
}

async function survivesKills(databaseUrl: string | undefined, folder: string, name: string): Promise<void> {
  const acknowledged: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const args = [databaseUrl ?? '-', folder, name, String(round)];
    acknowledged.push(...(await killedAfter(40 + 17 * round, 'returns-process.ts', args)));
    await finish(databaseUrl, folder, name, acknowledged);
  }
}

itOnEngine('sends every return exactly once over kills at any moment', survivesKills);
