import assert from 'node:assert/strict';
import { type Credits, winc } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { assertToldOnce } from '../../src/credits/ledger/testing.ts';
import { creditsMigrations } from '../../src/credits/migrations.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { itOnEngine } from '../../src/storage/sql/testing.ts';
import { killedAfter } from '../support/killed-after.ts';
import { seededRandom } from '../support/seeded-random.ts';

const ROUNDS = 4;
const ACKNOWLEDGED = 400;

async function assertKept(credits: Credits, acknowledged: readonly string[]): Promise<void> {
  for (const line of acknowledged) {
    const [what, id = '', wallet = '', last = ''] = line.split(' ');
    const spending = await credits.spending('upload', id);
    if (what === 'credited') {
      const request = { address: wallet, addressType: 'arweave', amount: winc(BigInt(last)), id } as const;
      assert.equal((await credits.credit({ ...request, reason: 'payment' })).applied, false, line);
    } else if (what === 'united') {
      assert.deepEqual(await credits.namesOf(id), [wallet, id], line);
    } else if (what === 'approved') {
      const { items } = await credits.entries(`approval:${id}`, { limit: 1_000 });
      assert.ok(
        items.some(({ reason }) => reason === 'delegated_payment_approval'),
        line,
      );
    } else if (what === 'refunded') {
      assert.equal(spending?.state, 'refunded', line);
    } else if (what === 'settled') {
      assert.ok(spending?.state === 'settled' || spending?.state === 'refunded', line);
    } else {
      assert.ok(spending !== undefined, line);
    }
  }
}

async function survivesKills(databaseUrl: string | undefined, folder: string, name: string): Promise<void> {
  const random = seededRandom(77);
  const acknowledged: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const count = ACKNOWLEDGED / 2 + random.below(ACKNOWLEDGED);
    const args = [databaseUrl ?? '-', folder, name, String(round)];
    acknowledged.push(...(await killedAfter(count, 'credits-process.ts', args)));
    const sql = await openDatabase({ databaseUrl, dataDir: folder, name, migrations: creditsMigrations });
    try {
      const credits = createCredits({ sql });
      const { problems, drift } = await credits.selfCheck();
      assert.deepEqual({ problems, drift }, { problems: [], drift: 0n });
      await assertKept(credits, acknowledged);
      await assertToldOnce(sql);
    } finally {
      await sql.close();
    }
  }
  assert.ok(acknowledged.length >= 1_000);
}

itOnEngine('survives being killed in the middle of mixed changes', survivesKills);
