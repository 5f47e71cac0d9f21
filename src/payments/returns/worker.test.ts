/** How the worker goes through what is due: when it looks again, what it leaves to a person, and what it does not send. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { type Credits, winc } from '../../credits/credits.ts';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { silentLog } from '../../kernel/testing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { CannotSend, type DeliveryOutcome, type WayBack } from './returns.ts';
import { insertReturn, type ReturnRow, readReturn } from './rows.ts';
import { gift, returnsTestMigrations } from './testing.ts';
import { ReturnWorker } from './worker.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const start = Date.UTC(2026, 0, 1);

const row: ReturnRow = {
  ...{ id: 'one', requestKey: 'key', address: 'anna', addressType: 'arweave', kind: 'chain', payment: 'p' },
  ...{ quoteId: undefined, chain: 'arweave', token: 'arweave', winc: winc(10n), amount: 7n },
  ...{ recipient: 'payer', state: 'due', reference: undefined, wire: undefined, queue: undefined },
  ...{ validUntil: undefined, tries: 0, reason: undefined, dueAt: start, leasedUntil: 0, leases: 0 },
  ...{ createdAt: start, changedAt: start },
};

async function setUp(t: TestContext, sql: Sql) {
  const clock = { now: start };
  const now = () => clock.now;
  const credits: Credits = createCredits({ sql, now });
  await gift(credits, 'anna', 1_000n, 'gift');
  const add = (id: string, more: Partial<ReturnRow> = {}) =>
    sql.transaction(async (tx) => {
      await insertReturn(tx, { ...row, id, requestKey: id, ...more });
      await credits
        .within(tx)
        .reserve({ id, reason: 'payment_return', signer: 'anna', signerType: 'arweave', amount: row.winc });
    });
  const asked: string[] = [];
  const told: string[] = [];
  const world = {
    hasKey: true,
    queue: undefined as string | undefined,
    prepare: async (_id: string): Promise<void> => {},
    outcome: async (_id: string): Promise<DeliveryOutcome> => ({ state: 'waiting' }),
  };
  const worker = new ReturnWorker({
    ...{ sql, credits, log: silentLog, now, recheckMs: second },
    onMoved: ({ id, state, reference }) => told.push(`${id} ${state} ${reference}`),
    wayOf: (): WayBack | undefined =>
      world.hasKey
        ? {
            ...(world.queue !== undefined && { queue: world.queue }),
            async prepare({ id }) {
              asked.push(`prepare ${id}`);
              await world.prepare(id);
              return { reference: `ref ${id}`, wire: 'wire', validUntil: 9 };
            },
            async deliver({ id }) {
              asked.push(`deliver ${id}`);
              return world.outcome(id);
            },
          }
        : undefined,
  });
  t.after(() => worker.stop());
  const work = async () => {
    asked.length = 0;
    worker.start();
    await worker.settled();
    await worker.stop();
    return asked;
  };
  const read = async (id = 'one') => (await readReturn(sql, id)) ?? assert.fail(id);
  const balance = async () => (await credits.balance('anna'))?.winc;
  return { sql, clock, add, asked, told, world, worker, work, read, balance };
}

forEachEngine((_engine, open) => {
  test('what was sent is looked at again after a second, then ever later, at most after ten minutes', async (t) => {
    const s = await setUp(t, await open(returnsTestMigrations));
    await s.add('one');
    assert.deepEqual(await s.work(), ['prepare one', 'deliver one']);
    const sent = await s.read();
    assert.deepEqual(
      [sent.state, sent.reference, sent.dueAt, sent.changedAt, sent.leasedUntil],
      ['sent', 'ref one', start + second, start, 0],
    );
    assert.deepEqual(await s.work(), [], 'not before its time');
    for (const [age, wait] of [
      [second, second],
      [4 * second, 4 * second],
      [10 * minute, 10 * minute],
      [60 * minute, 10 * minute],
    ] as const) {
      s.clock.now = start + age;
      assert.deepEqual(await s.work(), ['deliver one']);
      assert.equal((await s.read()).dueAt, s.clock.now + wait);
    }
    s.world.outcome = async () => ({ state: 'waiting', reference: 'another' });
    s.clock.now += 10 * minute;
    await s.work();
    assert.equal((await s.read()).reference, 'another');
    s.world.outcome = async () => ({ state: 'confirmed' });
    s.clock.now += 10 * minute;
    await s.work();
    assert.equal((await s.read()).state, 'confirmed');
    assert.deepEqual(s.told, ['one confirmed another']);
    assert.equal(await s.balance(), 990n);
  });

  test('a refusal for good gives the credits back, once', async (t) => {
    const s = await setUp(t, await open(returnsTestMigrations));
    await s.add('one');
    s.world.outcome = async () => ({ state: 'failed', reason: 'the bank refused' });
    await s.work();
    const { state, reason } = await s.read();
    assert.deepEqual([state, reason, await s.balance()], ['failed', 'the bank refused', 1_000n]);
    assert.equal(s.told.length, 1);
    s.clock.now += 60 * minute;
    assert.deepEqual(await s.work(), []);
  });

  test('what is proven void is made anew after a pause, and left to a person after many', async (t) => {
    const s = await setUp(t, await open(returnsTestMigrations));
    await s.add('one');
    s.world.outcome = async () => ({ state: 'void', reason: 'not taken' });
    await s.work();
    const again = await s.read();
    assert.deepEqual(
      [again.state, again.tries, again.reason, again.dueAt, again.reference, again.wire],
      ['due', 1, 'not taken', start + 2 * second, undefined, undefined],
    );
    await s.sql.run('UPDATE payment_returns SET tries = 28, due_at = 0');
    s.clock.now = start + 12 * hour;
    await s.work();
    assert.deepEqual([(await s.read()).state, (await s.read()).tries], ['due', 29]);
    await s.sql.run('UPDATE payment_returns SET due_at = 0');
    await s.work();
    const left = await s.read();
    assert.deepEqual([left.state, left.reason, left.reference], ['by_hand', 'not taken', undefined]);
    assert.deepEqual(s.told, ['one by_hand undefined']);
    assert.equal(await s.balance(), 990n, 'what is not decided stays taken');
  });

  test('what cannot be sent is put off and holds up no other; after many tries a person has to', async (t) => {
    const s = await setUp(t, await open(returnsTestMigrations));
    await s.add('one');
    await s.add('two');
    s.world.prepare = async (id) => {
      if (id === 'one') throw new CannotSend(`empty ${'x'.repeat(400)}`);
    };
    assert.deepEqual((await s.work()).sort(), ['deliver two', 'prepare one', 'prepare two']);
    const put = await s.read();
    assert.deepEqual([put.state, put.tries, put.dueAt], ['due', 1, start + 2 * second]);
    assert.equal(put.reason?.length, 300);
    await s.sql.run("UPDATE payment_returns SET tries = 29, due_at = 0 WHERE id = 'one'");
    s.clock.now = start + 12 * hour;
    await s.work();
    assert.equal((await s.read()).state, 'by_hand');
  });

  for (const [how, why, world] of [
    ['cannot be sent', 'empty', { prepare: () => Promise.reject(new CannotSend('empty')) }],
    ['is void', 'not taken', { outcome: async () => ({ state: 'void', reason: 'not taken' }) }],
  ] satisfies [string, string, object][])
    test(`many tries at once are no half a day, by whatever clocks: what ${how} is not left to a person yet`, async (t) => {
      const s = await setUp(t, await open(returnsTestMigrations));
      await s.add('one');
      Object.assign(s.world, world);
      for (const [tries, state] of [
        [60, 'due'],
        [61, 'by_hand'],
      ] as const) {
        await s.sql.run('UPDATE payment_returns SET tries = ?, due_at = 0', tries - 1);
        await s.work();
        const { reason, ...left } = await s.read();
        assert.deepEqual([left.state, reason], [state, why]);
        s.clock.now = start + 12 * hour;
      }
    });

  test('what was stored as sent is only ever asked for, however long nobody answers', async (t) => {
    const s = await setUp(t, await open(returnsTestMigrations));
    await s.add('one');
    s.world.outcome = () => Promise.reject(new CannotSend('no answer'));
    await s.work();
    const sent = await s.read();
    assert.deepEqual(
      [sent.state, sent.reference, sent.tries, sent.dueAt],
      ['sent', 'ref one', 1, start + 2 * second],
    );
    await s.sql.run('UPDATE payment_returns SET tries = 500, due_at = 0');
    assert.deepEqual(await s.work(), ['deliver one']);
    const asked = await s.read();
    assert.deepEqual([asked.state, asked.tries, asked.dueAt], ['sent', 501, start + 30 * minute]);
    s.world.hasKey = false;
    await s.sql.run('UPDATE payment_returns SET due_at = 0');
    assert.deepEqual(await s.work(), []);
    assert.deepEqual(
      [(await s.read()).state, (await s.read()).reason],
      ['sent', 'the service has no key to ask with'],
    );
  });

  test('without a key a person has to send, and transfers of one sender follow each other', async (t) => {
    const s = await setUp(t, await open(returnsTestMigrations));
    s.world.hasKey = false;
    await s.add('none');
    await s.work();
    assert.deepEqual(
      [(await s.read('none')).state, (await s.read('none')).reason],
      ['by_hand', 'the service has no key to send it with'],
    );
    s.world.hasKey = true;
    s.world.queue = 'sender';
    await s.add('one');
    await s.add('two', { dueAt: start + 1 });
    s.clock.now += 1;
    assert.deepEqual(await s.work(), ['prepare one', 'deliver one']);
    assert.equal((await s.read()).queue, 'sender');
    const two = await s.read('two');
    assert.deepEqual([two.state, two.dueAt, two.tries], ['due', s.clock.now + 2 * second, 0]);
    s.world.outcome = async () => ({ state: 'confirmed', reference: 'known now' });
    s.clock.now += 2 * second;
    assert.deepEqual(await s.work(), ['deliver one', 'prepare two', 'deliver two']);
    assert.equal((await s.read()).reference, 'known now');
  });

  test('stopped, it ends with the return that it is at, and the rest stays due', async (t) => {
    const s = await setUp(t, await open(returnsTestMigrations));
    await s.add('one');
    await s.add('two', { dueAt: start + 1 });
    s.clock.now += 1;
    let stopped: Promise<void> | undefined;
    s.world.prepare = async () => {
      stopped ??= s.worker.stop();
    };
    s.worker.start();
    await s.worker.settled();
    await stopped;
    assert.deepEqual(s.asked, ['prepare one', 'deliver one']);
    assert.deepEqual([(await s.read('two')).state, (await s.read('two')).leases], ['due', 0]);
  });

  test('it says when it looks again: when the next is due, and within a minute for what others make', async (t) => {
    const s = await setUp(t, await open(returnsTestMigrations));
    /** In tens of seconds: some of it has passed already. */
    const nextIn = async () => {
      s.worker.start();
      await s.worker.settled();
      const next = s.worker.reports()[0]?.nextAt ?? Number.NaN;
      await s.worker.stop();
      return Math.ceil((next - Date.now()) / (10 * second));
    };
    assert.equal(await nextIn(), 6);
    await s.add('later', { dueAt: start + 50 * minute });
    assert.equal(await nextIn(), 6);
    await s.add('soon', { dueAt: start + 30 * second });
    assert.equal(await nextIn(), 3);
  });
});
