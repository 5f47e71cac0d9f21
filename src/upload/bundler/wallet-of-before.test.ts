import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bundleTags } from '../../formats/ans104/bundle-header.ts';
import { newTransaction } from '../../formats/arweave/transaction.ts';
import { transactionToJson } from '../../formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { encodeBase64url } from '../../formats/base64url.ts';
import { rememberingLog } from '../../kernel/testing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { arweaveAddress } from '../../wallets/arweave/rsa.ts';
import { testArweaveKey } from '../../wallets/testing/keys.ts';
import { testMigrations } from '../testing.ts';
import { createWalletOfBefore } from './wallet-of-before.ts';

const other = 'w'.repeat(43);

describe('the wallet that pays', () => {
  forEachEngine((_engine, open) => {
    it('is told when another one paid for the last bundle, unless that is known', async () => {
      const sql = await open(testMigrations);
      const { log, lines } = rememberingLog();
      const problems = async (...wallets: [string, ...string[]]) => {
        const part = createWalletOfBefore({ sql, log, wallets });
        await part.start?.();
        return part.problems?.();
      };
      assert.deepEqual(await problems(other), [], 'nothing was paid yet');
      const unsigned = newTransaction({
        ...{ lastTx: Buffer.alloc(48, 7), reward: 5n, dataSize: 1 },
        ...{ dataRoot: Buffer.alloc(32), tags: bundleTags },
      });
      const tx = transactionToJson(await signTransactionAsync(unsigned, testArweaveKey.privateKey), 'header');
      await sql.run(
        `INSERT INTO upload_bundles (plan, state, item_count, size, tx_id, tx, seedings, attempts, due_at, created_at, changed_at)
         VALUES ('a', 'posted', 1, 1, ?, ?, 0, 0, 0, 0, 0)`,
        tx.id,
        JSON.stringify(tx),
      );
      assert.deepEqual(await problems(testArweaveKey.address), []);
      assert.deepEqual(await problems(other, testArweaveKey.address), []);
      assert.equal(lines.length, 0);
      const [problem = ''] = (await problems(other)) ?? [];
      assert.match(problem, new RegExp(`${other}, and ${testArweaveKey.address} paid for the last bundle`));
      assert.deepEqual(
        lines.map(({ wallet, before }) => [wallet, before]),
        [[other, testArweaveKey.address]],
      );
      // The newest that has a transaction; of two of one moment always the same.
      for (const [plan, createdAt, owner] of [
        ['b', 0, 'second'],
        ['c', 1, 'third'],
        ['d', 2, undefined],
      ] as const) {
        const json =
          owner === undefined ? null : JSON.stringify({ owner: encodeBase64url(Buffer.from(owner)) });
        await sql.run(
          `INSERT INTO upload_bundles (plan, state, item_count, size, tx, seedings, attempts, due_at, created_at, changed_at)
           VALUES (?, 'posted', 1, 1, ?, 0, 0, 0, ?, 0)`,
          plan,
          json,
          createdAt,
        );
        const [last = ''] = (await problems(testArweaveKey.address)) ?? [];
        const expected = arweaveAddress(Buffer.from(owner ?? 'third'));
        assert.ok(last.includes(`${expected} paid for the last bundle`), plan);
      }
    });
  });
});
