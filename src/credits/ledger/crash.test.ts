import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import pg from 'pg';
import { killedAfter } from '../../../test/support/killed-after.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { openDatabase } from '../../storage/sql/open.ts';
import { type Credits, winc } from '../credits.ts';
import { creditsMigrations } from '../migrations.ts';
import { createCredits } from './ledger.ts';
import { assertToldOnce } from './testing.ts';

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

it('survives being killed in the middle of mixed changes on SQLite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-crash-'));
  try {
    await survivesKills(undefined, folder, 'ledger');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const url = process.env.TEST_DATABASE_URL;
it('survives being killed in the middle of mixed changes on PostgreSQL', {
  skip: url === undefined && 'SKIPPED: needs TEST_DATABASE_URL; `npm run test:servers` runs it',
}, async () => {
  const name = `crash_${process.pid}`;
  try {
    await survivesKills(url, '', name);
  } finally {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`DROP SCHEMA IF EXISTS "${name}" CASCADE`);
    await client.end();
  }
});
