/** Card payments whose quote is not in the ledger, as after a restore: told, and put back from what stands beside them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type CardBench, ledgerMigrations, openCardBench, wallet } from '../../../test/support/card-bench.ts';
import { collected } from '../../kernel/collected.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import type { OutsideRecord } from '../outside-records.ts';
import { openEvents } from './inbox.ts';

const credited = 1_225_600_000_000n;

/** The ledger as it was before the quote was made. */
async function forget(bench: CardBench): Promise<void> {
  await bench.sql.run('DELETE FROM card_quotes');
  await bench.sql.run('DELETE FROM card_events');
}

const unknown = (bench: CardBench): Promise<OutsideRecord[]> => collected(bench.cards.outside.unknown(0));

forEachEngine((_engine, open) => {
  it('stays open and is counted, and is credited once however often it is taken in', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const { intentId } = await bench.intent();
    await forget(bench);
    await bench.confirm(intentId);
    await bench.until(async () => (await openEvents(bench.sql, 10)).length > 0);
    await bench.cards.settled();
    assert.equal(await bench.balance(), 0n);
    assert.deepEqual(
      (await openEvents(bench.sql, 10)).map((event) => event.intentId),
      [intentId],
    );
    assert.ok(bench.observations.some((seen) => seen.kind === 'open-events' && seen.count === 1));

    const [record, ...rest] = await unknown(bench);
    assert.deepEqual([record?.id, record?.kind, rest.length], [intentId, 'card', 0]);
    const outcomes = await Promise.all([record?.credit?.(), record?.credit?.()]);
    assert.deepEqual(outcomes[0], { state: 'credited', address: wallet, winc: credited });
    assert.equal(await bench.balance(), credited);
    assert.deepEqual(await unknown(bench), []);
    await bench.until(async () => (await openEvents(bench.sql, 10)).length === 0);
    // What speaks of it is dealt with also where another has put the quote back.
    await bench.cards.settled();
    await bench.sql.run("UPDATE card_events SET state = 'open'");
    await record?.credit?.();
    assert.deepEqual(await openEvents(bench.sql, 10), []);
    assert.equal(await bench.balance(), credited);
    assert.deepEqual((await bench.credits.selfCheck()).problems, []);
  });

  it('is known as ours where the copy that was restored is older than the first payment', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const marks = () => bench.sql.all('SELECT id FROM card_ledger');
    const before = await marks();
    assert.equal(before.length, 1);
    const { intentId } = await bench.intent();
    const { metadata } = await bench.stripe.paymentIntents.retrieve(intentId);
    assert.deepEqual([{ id: metadata.ledgerId }], before);
  });

  it('is not credited twice where it went back meanwhile, and not at all where another ledger sold it', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const refunded = await bench.intent();
    const foreign = await bench.intent();
    await forget(bench);
    await bench.stripe.paymentIntents.update(foreign.intentId, { metadata: { ledgerId: 'another' } });
    for (const { intentId } of [refunded, foreign]) await bench.confirm(intentId);
    await bench.stripe.refunds.create({ payment_intent: refunded.intentId });
    const found = await unknown(bench);
    assert.deepEqual(
      found.map(({ id }) => id),
      [refunded.intentId],
    );
    await found[0]?.credit?.();
    assert.equal(await bench.balance(), 0n);
    await bench.cards.settled();
    assert.ok((await openEvents(bench.sql, 10)).every(({ intentId }) => intentId !== foreign.intentId));
  });

  it('is left to a person where it is not marked, or was paid for something else', async (t) => {
    const bench = await openCardBench(t, { sql: await open(ledgerMigrations) });
    const unmarked = await bench.intent();
    const name = await bench.intent();
    await forget(bench);
    await bench.stripe.paymentIntents.update(unmarked.intentId, { metadata: { ledgerId: '' } });
    await bench.stripe.paymentIntents.update(name.intentId, { metadata: { purpose: 'arns' } });
    for (const { intentId } of [unmarked, name]) await bench.confirm(intentId);
    const found = await unknown(bench);
    assert.equal(found.length, 2);
    for (const record of found) {
      assert.equal(record.credit, undefined);
      assert.match(record.openBecause ?? '', /not marked with a ledger|was paid for arns/);
    }
    assert.equal(await bench.balance(), 0n);
  });
});
