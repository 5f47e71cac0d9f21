import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Random } from '../../../test/support/random.ts';
import { namePrograms } from '../../formats/solana/programs.ts';
import { memo, transferLamports } from '../../formats/solana/system.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import { TransactionRefused } from './ledger.ts';
import { openLedger } from './open.ts';
import { digestOf, replay } from './replay.ts';
import { migrations } from './schema.ts';
import { LedgerStore } from './store.ts';
import { TestLedger, wallet } from './testing.ts';

test('the log executed again from the first block gives the same accounts, also after a restart', async () => {
  const random = new Random(42);
  const people = ['a', 'b', 'c', 'd'].map(wallet);
  const ledger = await TestLedger.start({ fund: [people[0]!.address] });
  try {
    for (const person of people) await ledger.rpc('requestAirdrop', person.address, 3_000_000_000);
    let failed = 0;
    for (let round = 0; round < 150; round += 1) {
      const from = random.pick(people);
      const to = random.pick(people);
      const amount = 10n ** BigInt(random.between(5, 10));
      const instructions = [transferLamports(from.address, to.address, amount), memo(`round ${round}`)];
      try {
        const status = await ledger.sendAnyway(instructions, from);
        if (status.err !== null) failed += 1;
      } catch (error) {
        assert.ok(error instanceof TransactionRefused);
      }
      if (round === 75) await ledger.restart();
    }
    assert.ok(failed > 3);
    ledger.skipSeconds(86_400);
    assert.equal(await ledger.local.upkeep(), 1);
    const expected = digestOf(ledger.local.ledger.accounts);
    const count = ledger.local.ledger.transactionCount;
    await ledger.local.stop();

    const sql = await openSqliteFile(join(ledger.folder, 'localnet', 'solana.db'), migrations);
    const settings = { programs: namePrograms.mainnet, registryCapacity: 1, demandFactor: 1 };
    const opened = await openLedger(sql, settings, () => ledger.time);
    assert.equal(digestOf(opened.ledger.accounts), expected);
    assert.equal(opened.ledger.transactionCount, count);
    const again = await replay(opened.genesis, opened.settings, new LedgerStore(sql).since(0));
    assert.equal(digestOf(again), expected);
    await sql.close();
  } finally {
    await ledger.stop();
  }
});
