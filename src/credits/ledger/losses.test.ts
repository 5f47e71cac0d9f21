import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { parseAddress } from '../../wallets/address.ts';
import { LOSS_ACCOUNT, winc } from '../credits.ts';
import { readLosses } from './accounts.ts';
import { assertSound, openTestLedger } from './testing.ts';

forEachEngine((_engine, open) => {
  it('keeps losses in an account like any other, with what they were about', async () => {
    const { sql, credits } = await openTestLedger(open);
    assert.equal(parseAddress(LOSS_ACCOUNT.address), undefined, 'no wallet has this address');
    assert.equal(await readLosses(sql), 0n);
    const lost = { ...LOSS_ACCOUNT, amount: winc(70n), reason: 'chargeback', id: 'r:1' } as const;
    await credits.clawback({ ...lost, note: 'a name that was handed over' });
    assert.equal((await credits.clawback({ ...lost, note: 'again' })).applied, false);
    assert.equal(await readLosses(sql), 70n);
    assert.deepEqual(
      (await credits.entries(LOSS_ACCOUNT.address, { limit: 10 })).items.map(({ amount, note }) => [
        amount,
        note,
      ]),
      [[-70n, 'a name that was handed over']],
    );
    assert.equal((await credits.selfCheck()).losses, 70n);
    await assertSound(credits);
    await credits.credit({ ...LOSS_ACCOUNT, amount: winc(70n), reason: 'chargeback_reversed', id: 'r:2' });
    assert.equal(await readLosses(sql), 0n);
    await assertSound(credits);
  });

  it('does not add up when more is booked back than was lost', async () => {
    const { credits } = await openTestLedger(open);
    await credits.credit({ ...LOSS_ACCOUNT, amount: winc(1n), reason: 'chargeback_reversed', id: 'r:1' });
    assert.deepEqual((await credits.selfCheck()).problems, [
      'operator:losses has 1 winc: more was booked back than was lost',
    ]);
  });
});
