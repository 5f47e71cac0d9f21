import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { cardMigrations } from './migrations.ts';
import { chargebacksOf, readQuote } from './quotes.ts';

const columns = `id, purpose, state, method, address, address_type, currency, amount, quoted_amount, winc, adjustments,
  details, expires_at, payable_until, taken_back, reversals, refund_due, tickets, applied_ticket, due_at, attempts,
  created_at, changed_at`;

forEachEngine((_engine, open) => {
  it('knows of quotes that are older than debtors who was charged for them', async () => {
    const before = cardMigrations.findIndex(({ id }) => id === 'card-004-debtors');
    const old = await open(cardMigrations.slice(0, before), 'cards');
    for (const [id, purpose, state, takenBack] of [
      ['top-up', 'top-up', 'paid', '0'],
      ['charged', 'arns', 'charged_back', '1000'],
      ['open', 'arns', 'paid', '0'],
    ] as const) {
      await old.run(
        `INSERT INTO card_quotes (${columns}) VALUES (?, ?, ?, 'payment-intent', 'wallet', 'solana', 'usd', 1, 1,
           '1000', '[]', '{}', 0, 0, ?, 0, 0, 0, 0, 0, 0, 0, 0)`,
        id,
        purpose,
        state,
        takenBack,
      );
    }
    const sql = await open(cardMigrations, 'cards');
    const debtor = async (id: string) => (await readQuote(sql, id))?.debtor;
    const wallet = { address: 'wallet', addressType: 'solana' };
    assert.deepEqual(await debtor('top-up'), wallet);
    assert.deepEqual(await debtor('charged'), wallet);
    assert.equal(await debtor('open'), undefined);
    assert.equal(await chargebacksOf(sql, 'wallet'), 1);
  });
});
