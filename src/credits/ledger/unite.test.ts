/** Every form of a wallet's address leads to one account. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { formsOfAddress, formsOfEthereumKey } from '../../wallets/address-forms.ts';
import { publicKeyOf } from '../../wallets/ethereum/secp256k1.ts';
import { localWallets } from '../../wallets/local-wallets.ts';
import { solanaAddress } from '../../wallets/solana/address.ts';
import { InvalidApproval, winc } from '../credits.ts';
import { createCredits } from './ledger.ts';
import { assertSound, give, lend, openTestLedger, owned, upload } from './testing.ts';

const { solana, ethereum, arweave } = localWallets(2);
const base58 = solana[0]!.address;
const hashed = formsOfAddress(base58)[0] ?? '';
const friend = arweave[0]!.address;
const key = formsOfEthereumKey(publicKeyOf(Buffer.from(ethereum[0]!.privateKey.slice(2), 'hex')));
const [keyHash = '', kyve = ''] = key.others;
const payment = {
  type: 'crypto',
  tokenType: 'solana',
  tokenQuantity: '1',
  usdEquivalent: '1',
  senderAddress: 'x',
  transactionId: 't',
} as const;

forEachEngine((_engine, open) => {
  describe('forms of an address', () => {
    it('of a Solana wallet lead to one account, whichever is paid first', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, hashed, 5n, 'before');
      assert.deepEqual([await owned(credits, hashed), await owned(credits, base58)], [5n, 5n]);
      await give(credits, base58, 7n, 'after');
      await give(credits, hashed, 1n, 'later');
      for (const form of [hashed, base58]) assert.equal(await owned(credits, form), 13n);
      assert.deepEqual(await credits.namesOf(hashed), [base58, hashed]);
      await credits.spend(upload(base58, 13n, 'item'));
      assert.equal(await owned(credits, hashed), 0n);
      await assertSound(credits);
    });

    it('of an Ethereum wallet are learnt with its key, and not before', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, key.wallet.address, 1n, 'own');
      await give(credits, keyHash, 10n, 'hash');
      await give(credits, kyve, 100n, 'kyve');
      assert.equal(await owned(credits, key.wallet.address), 1n);
      await credits.unite(key);
      for (const form of [key.wallet.address, ...key.others]) assert.equal(await owned(credits, form), 111n);
      // The key may speak as the wallet of the other chain.
      const { split } = await credits.spend(upload(kyve, 111n, 'item'));
      assert.deepEqual(split, [{ payer: key.wallet.address, amount: 111n }]);
      await credits.refund('upload', 'item');
      assert.equal(await owned(credits, keyHash), 111n);
      await assertSound(credits);
    });

    it('bring the past along: payments, holds, what was spent, and repeats of old changes', async () => {
      const { credits } = await openTestLedger(open);
      const request = {
        address: keyHash,
        addressType: 'arweave',
        amount: winc(9n),
        id: 'paid',
        payment,
      } as const;
      const reserve = { reason: 'upload', id: 'held', amount: winc(2n) } as const;
      await credits.credit({ ...request, reason: 'x402_payment', reserve });
      await credits.unite(key);
      const { items } = await credits.payments(key.wallet.address, { limit: 5 });
      assert.deepEqual(
        items.map(({ wincCredited }) => wincCredited),
        ['9'],
      );
      assert.equal((await credits.credit({ ...request, reason: 'x402_payment', reserve })).applied, false);
      const { holds, count } = await credits.holds(key.wallet.address, 10);
      assert.deepEqual([holds[0]?.id, holds[0]?.amount, count], ['held', 2n, 1]);
      await credits.assign('upload', 'held', 'item', winc(1n));
      assert.equal(await owned(credits, kyve), 8n);
      const { days } = await credits.spendingByDay(kyve, 30);
      assert.deepEqual(
        days.map(({ date, uploads }) => [date, uploads]),
        [['2026-01-01', 1n]],
      );
      await assertSound(credits);
    });

    it('lead what others lend to the wallet, and give back what it lent to itself', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, friend, 20n);
      await give(credits, key.wallet.address, 20n);
      await lend(credits, friend, keyHash, 4n, 'to-hash');
      await lend(credits, key.wallet.address, kyve, 6n, 'to-itself');
      assert.equal(await owned(credits, key.wallet.address), 14n);
      await credits.unite(key);
      const balance = await credits.balance(key.wallet.address);
      assert.deepEqual([balance?.winc, balance?.effectiveBalance, balance?.controlledWinc], [20n, 24n, 20n]);
      await credits.spend(
        upload(key.wallet.address, 4n, 'lent', { paidBy: [friend], directive: 'list-only' }),
      );
      assert.equal(await owned(credits, key.wallet.address), 20n);
      assert.deepEqual(await credits.approvals(friend, kyve), []);
      assert.deepEqual((await credits.balance(key.wallet.address))?.receivedApprovals, []);
      await assert.rejects(lend(credits, key.wallet.address, kyve, 1n, 'again'), InvalidApproval);
      await assertSound(credits);
    });

    it('bring along what they lent to others, and the notice that they asked for', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, keyHash, 10n);
      await lend(credits, keyHash, friend, 4n, 'lent');
      await credits.setNotice(keyHash, 3n);
      await credits.unite(key);
      const { givenApprovals } = await credits.approvalsOf(key.wallet.address);
      assert.deepEqual(
        givenApprovals.map(({ approvalDataItemId, payingAddress }) => [approvalDataItemId, payingAddress]),
        [['lent', key.wallet.address]],
      );
      assert.deepEqual(await credits.notice(key.wallet.address), { winc: 3n, own: true });
      await credits.spend(upload(friend, 4n, 'item', { paidBy: [kyve], directive: 'list-only' }));
      assert.equal(await owned(credits, key.wallet.address), 6n);
      await assertSound(credits);
    });

    it('are united when the account is opened, also with what an older version left', async () => {
      const { credits, sql } = await openTestLedger(open);
      await sql.run(
        "INSERT INTO credits_accounts (address, address_type, balance, created_at) VALUES (?, 'arweave', '5', 1)",
        hashed,
      );
      await sql.run(
        `INSERT INTO credits_entries (account, amount, reason, change_id, line, created_at)
         VALUES (?, '5', 'crypto_payment', 'old', 0, 1)`,
        hashed,
      );
      assert.deepEqual(await give(credits, base58, 2n), { applied: true, balance: 7n });
      assert.deepEqual(await credits.namesOf(base58), [base58, hashed]);
      await assertSound(credits);
    });

    it('bring along what is owed', async () => {
      const { credits } = await openTestLedger(open);
      await give(credits, key.wallet.address, 10n);
      await lend(credits, key.wallet.address, friend, 8n, 'lent');
      await credits.clawback({
        address: keyHash,
        addressType: 'arweave',
        amount: winc(5n),
        reason: 'chargeback',
        id: 'dispute',
      });
      await credits.unite(key);
      assert.equal(await owned(credits, key.wallet.address), 5n);
      assert.deepEqual(await credits.approvals(key.wallet.address, friend), []);
      await assertSound(credits);
    });

    it('of different keys stay apart, and a key of which nothing is known leaves no trace', async () => {
      const { credits, sql } = await openTestLedger(open);
      await credits.unite(key);
      assert.deepEqual(await sql.all('SELECT address FROM credits_accounts'), []);
      await give(credits, friend, 1n, 'to another');
      await credits.unite(key);
      assert.deepEqual(await sql.all('SELECT address FROM credits_accounts'), [{ address: friend }]);
      await give(credits, keyHash, 3n);
      await credits.unite(key);
      // No second key has this form. Whoever claimed it would get nothing.
      await credits.unite({ wallet: { kind: 'ethereum', address: ethereum[1]!.address }, others: [keyHash] });
      assert.equal(await owned(credits, keyHash), 3n);
      assert.deepEqual((await credits.namesOf(keyHash))[0], key.wallet.address);
      assert.equal(await owned(credits, ethereum[1]!.address), undefined);
      await assertSound(credits);
    });

    it('of accounts that an older version opened are found once', async () => {
      const { credits, sql } = await openTestLedger(open);
      await give(credits, base58, 2n);
      await sql.run('DELETE FROM credits_accounts WHERE same_as IS NOT NULL');
      await give(createCredits({ sql }), hashed, 3n, 'to the hash');
      const fresh = createCredits({ sql });
      assert.equal(await fresh.uniteStored(), 1);
      assert.equal(await fresh.uniteStored(), 0);
      assert.equal(await owned(fresh, hashed), 5n);
      await assertSound(fresh);
    });

    it('of many such accounts are found together, whether anything came under them or not', async () => {
      const { credits, sql } = await openTestLedger(open);
      // Of a shorter address it is not certain that it is Solana's.
      const wallets = Array.from({ length: 400 }, (_, n) => {
        const address = solanaAddress(createHash('sha256').update(`wallet ${n}`).digest());
        return { address, form: formsOfAddress(address)[0] ?? '' };
      })
        .filter(({ form }) => form !== '')
        .slice(0, 150);
      for (const [n, { address }] of wallets.entries()) await give(credits, address, 5n, `wallet ${n}`);
      await sql.run('DELETE FROM credits_accounts WHERE same_as IS NOT NULL');
      const [paid, lent] = [wallets[3]!, wallets[4]!];
      // An older version opened an account for the form, and lent to it.
      await sql.run(
        "INSERT INTO credits_accounts (address, address_type, balance, created_at) VALUES (?, 'arweave', 0, 0)",
        paid.form,
      );
      await give(createCredits({ sql }), paid.form, 7n, 'under the form');
      await createCredits({ sql }).approve({
        id: 'loan',
        payer: wallets[5]!.address,
        approved: lent.form,
        amount: winc(2n),
      });

      const fresh = createCredits({ sql });
      assert.equal(await fresh.uniteStored(), 150);
      assert.equal(await fresh.uniteStored(), 0);
      for (const { address, form } of wallets) assert.deepEqual(await fresh.namesOf(form), [address, form]);
      assert.equal(await owned(fresh, paid.address), 12n);
      assert.equal(await owned(fresh, wallets[140]!.form), 5n);
      assert.equal((await fresh.balance(lent.address))?.effectiveBalance, 7n);
      await assertSound(fresh);
    });

    it('of a large ledger are found a part at a time', async () => {
      const { credits, sql } = await openTestLedger(open);
      await give(credits, base58, 2n);
      await sql.run('DELETE FROM credits_accounts WHERE same_as IS NOT NULL');
      const others = Array.from({ length: 20_000 }, (_, n) => `('!${n}', 'arweave', 0, 0)`);
      await sql.run(
        `INSERT INTO credits_accounts (address, address_type, balance, created_at) VALUES ${others.join(', ')}`,
      );
      const fresh = createCredits({ sql });
      assert.equal(await fresh.uniteStored(), 0, 'those before it in order');
      assert.equal(await fresh.uniteStored(), 1);
      assert.equal(await fresh.uniteStored(), 0);
    });

    it('are united once when many see the key at once, while credits arrive under every form', async () => {
      const { credits, sql } = await openTestLedger(open);
      await give(credits, keyHash, 1n, 'first');
      const processes = Array.from({ length: 4 }, () => createCredits({ sql }));
      await Promise.all(
        processes.flatMap((one, place) => [
          one.unite(key),
          ...[key.wallet.address, ...key.others].map((form) => give(one, form, 1n, `${place} ${form}`)),
        ]),
      );
      for (const form of [key.wallet.address, ...key.others]) assert.equal(await owned(credits, form), 17n);
      await assertSound(credits);
    });
  });
});
