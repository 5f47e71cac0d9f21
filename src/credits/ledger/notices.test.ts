import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toldWallets } from '../../events/testing-wallets.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { winc } from '../credits.ts';
import { creditsMigrations } from '../migrations.ts';
import { createCredits } from './ledger.ts';
import { assertToldOnce, give, lend, openTestLedger, upload } from './testing.ts';

const act = (signer: string, amount: bigint, id: string) => ({
  ...upload(signer, amount, id),
  reason: 'arns_action' as const,
});

forEachEngine((_engine, open) => {
  describe('what wallets are told of the ledger', () => {
    it('every payment and every clawback once, however often it is repeated', async () => {
      const { sql, credits } = await openTestLedger(open);
      await give(credits, 'anna', 100n, 'tx-1');
      await give(credits, 'anna', 100n, 'tx-1');
      const dispute = { address: 'anna', addressType: 'arweave', amount: winc(30n), id: 'dispute' } as const;
      await credits.clawback({ ...dispute, reason: 'chargeback' });
      await credits.clawback({ ...dispute, reason: 'chargeback' });
      assert.deepEqual(await toldWallets(sql), [
        {
          wallet: 'anna',
          type: 'credits.paid',
          data: { winc: '100', balance: '100', reason: 'crypto_payment', id: 'tx-1' },
        },
        {
          wallet: 'anna',
          type: 'credits.taken',
          data: { winc: '30', balance: '70', reason: 'chargeback', id: 'dispute' },
        },
      ]);
      await assertToldOnce(sql);
    });

    it('a payment that pays for something by itself says what it set aside, and what came back of that', async () => {
      const { sql, credits } = await openTestLedger(open);
      await credits.setNotice('anna', 50n);
      const payment = { address: 'anna', addressType: 'arweave', amount: winc(100n), id: 'p' } as const;
      const reserve = { reason: 'upload', id: 'p', amount: winc(90n) } as const;
      await credits.credit({ ...payment, reason: 'x402_payment', reserve });
      await credits.assign('upload', 'p', 'item', winc(60n));
      assert.deepEqual(
        (await toldWallets(sql, 'anna')).map(({ type, data }) => [
          type,
          data.winc,
          data.reservedWinc,
          data.balance,
        ]),
        [
          ['credits.paid', '100', '90', '10'],
          ['credits.refunded', '30', undefined, '40'],
        ],
      );
    });

    it('what uploads cost is left to their receipts, everything else is told to all who pay for it', async () => {
      const { sql, credits } = await openTestLedger(open);
      await give(credits, 'anna', 100n);
      await give(credits, 'boris', 100n);
      await lend(credits, 'anna', 'boris', 40n, 'loan');
      await credits.spend(upload('boris', 10n, 'item'));
      await credits.refund('upload', 'item');
      await credits.reserve({ ...act('boris', 60n, 'act'), paidBy: ['anna'] });
      await credits.settle('arns_action', 'act', winc(50n));
      const told = (await toldWallets(sql)).filter(({ type }) => type !== 'credits.paid');
      const about = { reason: 'arns_action', id: 'act' };
      const loan = { approvalId: 'loan', state: 'given', payer: 'anna', approved: 'boris', winc: '40' };
      assert.deepEqual(told, [
        { wallet: 'anna', type: 'credits.shared', data: loan },
        { wallet: 'boris', type: 'credits.shared', data: loan },
        {
          wallet: 'boris',
          type: 'credits.spent',
          data: {
            ...{ winc: '60', balance: '80', ...about, state: 'reserved' },
            payers: [
              { address: 'anna', winc: '40' },
              { address: 'boris', winc: '20' },
            ],
          },
        },
        {
          wallet: 'anna',
          type: 'credits.spent',
          data: { winc: '40', ...about, state: 'reserved', signer: 'boris' },
        },
        { wallet: 'boris', type: 'credits.refunded', data: { winc: '10', balance: '90', ...about } },
      ]);
    });

    it('both sides of a loan, when it is given and when it ends', async () => {
      const { sql, credits, clock } = await openTestLedger(open);
      await give(credits, 'anna', 100n);
      await lend(credits, 'anna', 'boris', 40n, 'revoked');
      await credits.revoke({ id: 'revocation', payer: 'anna', approved: 'boris' });
      await lend(credits, 'anna', 'clara', 30n, 'expired', 60);
      clock.now += 61_000;
      await credits.expireApprovals();
      await credits.expireApprovals();
      const shared = (await toldWallets(sql)).filter(({ type }) => type === 'credits.shared');
      assert.deepEqual(
        shared.map(({ wallet, data }) => [wallet, data.approvalId, data.state, data.returnedWinc]),
        [
          ['anna', 'revoked', 'given', undefined],
          ['boris', 'revoked', 'given', undefined],
          ['anna', 'revoked', 'revoked', '40'],
          ['boris', 'revoked', 'revoked', '40'],
          ['anna', 'expired', 'given', undefined],
          ['clara', 'expired', 'given', undefined],
          ['anna', 'expired', 'expired', '30'],
          ['clara', 'expired', 'expired', '30'],
        ],
      );
      await assertToldOnce(sql);
    });

    it('a balance that falls below what a wallet chose, once each time it falls', async () => {
      const { sql, credits } = await openTestLedger(open);
      const low = async () =>
        (await toldWallets(sql, 'anna')).filter(({ type }) => type === 'credits.low').map(({ data }) => data);
      assert.equal(await credits.setNotice('anna', 50n), false, 'there is no account yet');
      await give(credits, 'anna', 100n);
      await credits.spend(upload('anna', 60n, 'before'));
      assert.deepEqual(await low(), [], 'nothing was chosen');
      await give(credits, 'anna', 60n, 'second');
      assert.deepEqual(await credits.notice('anna'), { winc: 0n, own: false });
      assert.equal(await credits.setNotice('anna', 50n), true);
      assert.deepEqual(await credits.notice('anna'), { winc: 50n, own: true });
      await credits.spend(upload('anna', 50n, 'at the border'));
      assert.deepEqual(await low(), []);
      await credits.spend(upload('anna', 10n, 'below'));
      await credits.spend(upload('anna', 10n, 'further below'));
      assert.deepEqual(await low(), [{ balance: '40', noticeWinc: '50', usualWinc: '40', lastsFor: 1 }]);
      await credits.refund('upload', 'below');
      await give(credits, 'anna', 10n, 'third');
      await lend(credits, 'anna', 'boris', 20n, 'loan');
      assert.equal((await low()).length, 2, 'a loan leaves less, too');
      await give(credits, 'anna', 100n, 'fourth');
      const dispute = { address: 'anna', addressType: 'arweave', amount: winc(400n), id: 'dispute' } as const;
      await credits.clawback({ ...dispute, reason: 'chargeback' });
      assert.equal((await low()).length, 3, 'and so does a payment that goes back');
      assert.equal(await credits.setNotice('anna', 0n), true);
      await give(credits, 'anna', 1_000n, 'fifth');
      await credits.spend(upload('anna', 700n, 'off'));
      assert.equal((await low()).length, 3);
      const { problems } = await credits.selfCheck();
      assert.deepEqual(problems, []);
    });

    it('those that chose nothing below what the service has for everybody', async () => {
      const sql = await open(creditsMigrations);
      const credits = createCredits({ sql, noticeWinc: 50n });
      await give(credits, 'anna', 100n);
      await give(credits, 'boris', 100n);
      await credits.setNotice('boris', 0n);
      await credits.spend(upload('anna', 60n, 'a'));
      await credits.spend(upload('boris', 60n, 'b'));
      const low = (await toldWallets(sql)).filter(({ type }) => type === 'credits.low');
      assert.deepEqual(
        low.map(({ wallet, data }) => [wallet, data.noticeWinc]),
        [['anna', '50']],
      );
      await credits.setNotice('boris', null);
      assert.deepEqual(await credits.notice('boris'), { winc: 50n, own: false });
    });
  });
});
