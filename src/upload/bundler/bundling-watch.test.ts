/** Items that nobody bundles and a wallet that runs dry are told, in health and in metrics. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { rememberingLog } from '../../kernel/testing.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { uploadMigrations } from '../migrations.ts';
import { createBundlingWatch } from './bundling-watch.ts';

forEachEngine((_engine, open) => {
  it('tells how long an item has waited, and what the wallet lacks', async (t) => {
    const sql = await open(uploadMigrations);
    const metrics = new Metrics();
    const { log, lines } = rememberingLog();
    const wallet = { balance: 1_000n };
    let looks = 0;
    let now = 1_000_000;
    const watch = createBundlingWatch({
      ...{ sql, metrics, log, now: () => now, everyMs: 1 },
      nodes: {
        balance: async () => {
          looks += 1;
          if (wallet.balance < 0n) throw new Error('away');
          return wallet.balance;
        },
        price: async (bytes: number) => BigInt(bytes),
      },
      ...{ address: 'the wallet', maxWaitMs: 60_000, bundleBytes: 500 },
    });
    for (const job of watch.jobs ?? []) job.start();
    t.after(() => Promise.all(watch.jobs?.map((job) => job.stop()) ?? []));
    const told = (expected: readonly RegExp[]) =>
      eventually(String(expected), async () => {
        const problems = (await watch.problems?.()) ?? [];
        return (
          problems.length === expected.length &&
          expected.every((one, index) => one.test(problems[index] ?? ''))
        );
      });
    await told([]);
    await sql.run(
      `INSERT INTO upload_items (id, owner, signer, signature_type, size, payload_start, content_type, winc, received_at,
         deadline_height, held, state, failures)
       VALUES ('one', '', '', 1, 400, 0, '', '0', 1000000, 1, 1, 'new', 0)`,
    );
    // What is signed for is paid; what is planned is not.
    for (const [state, size] of [
      ['posted', 70_000],
      ['planned', 100],
    ] as const)
      await sql.run(
        `INSERT INTO upload_bundles (plan, state, item_count, size, seedings, attempts, due_at, created_at, changed_at)
         VALUES (?, ?, 1, ?, 0, 0, 0, 0, 0)`,
        state,
        state,
        size,
      );
    now += 60_000;
    await told([]);
    now += 5 * 60_000 + 1;
    await told([/^Nobody bundles: an item has waited for 6 minutes\.$/]);
    assert.match(await metrics.text(), /^upload_nobody_bundles 1$/m);
    wallet.balance = 999n;
    await told([
      /^Nobody bundles/,
      /^Wallet runs dry: the wallet has 999 winston, what waits and one more bundle cost 1000\.$/,
    ]);
    assert.match(await metrics.text(), /^upload_wallet_low 1$/m);
    // Nodes that are away take nothing back, and what was said is not said again at each look.
    const again = async () => {
      const seen = looks;
      await eventually('two more looks', () => looks > seen + 1);
      return lines.filter(({ msg }) => msg === 'the wallet runs dry: fill it').length;
    };
    assert.equal(await again(), 1);
    wallet.balance = -1n;
    assert.equal(await again(), 1);
    assert.equal((await watch.problems?.())?.length, 2);
    wallet.balance = 1_000n;
    await told([/^Nobody bundles/]);
    wallet.balance = 999n;
    await told([/^Nobody bundles/, /^Wallet runs dry/]);
    assert.equal(await again(), 2);
    wallet.balance = 1_000n;
    await sql.run('UPDATE upload_items SET misses = 1');
    await told([/^Stored bytes are not found: an item has waited for 6 minutes\.$/]);
    // After a restore it waits for what the lost machine has made.
    await sql.run('INSERT INTO upload_restores (one, since, restored_at) VALUES (1, 0, 2000000)');
    await told([]);
    await sql.run('DELETE FROM upload_restores');
    await told([/^Stored bytes are not found/]);
    await sql.run("UPDATE upload_items SET state = 'planned'");
    await told([]);
  });
});
