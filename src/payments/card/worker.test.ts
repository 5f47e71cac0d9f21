/** The background of card payments with a provider that says what the test says: what is asked, put off, ended, left to a person. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { creditsMigrations } from '../../credits/migrations.ts';
import { rememberingLog } from '../../kernel/testing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import type { CardObservation } from './card.ts';
import { CardProviderUnavailable } from './errors.ts';
import { openEvents, readCursor, storeEvent, writeCursor } from './inbox.ts';
import { cardMigrations } from './migrations.ts';
import type { PaymentFacts, ProviderEvent, ProviderPayment } from './provider.ts';
import { insertQuote, mostRefundTries, type QuoteRow, readQuote } from './quotes.ts';
import { addQuote, aQuote, now, paid, setUpQuote } from './testing.ts';
import { CardWorker } from './worker.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * 60 * minute;
const migrations = [...creditsMigrations, ...cardMigrations];
const stillOpen: PaymentFacts = { ...paid, status: 'open', received: undefined };
const away = () => Promise.reject(new CardProviderUnavailable('away'));

const anEvent = (id: string, more: Partial<ProviderEvent> = {}): ProviderEvent => ({
  ...{ id, type: 'payment_intent.succeeded', created: 5 },
  ...{ quoteId: undefined, intentId: undefined, sessionId: undefined, ...more },
});

/** A worker on a quote of its own, `quote`; `asked` is what the provider was asked, in order. */
async function setUp(t: TestContext, sql: Sql) {
  const { context, calls } = await setUpQuote(sql);
  const clock = { now };
  const { log, lines } = rememberingLog();
  const asked: string[] = [];
  const observed: CardObservation[] = [];
  const world = {
    factsOf: async ({ intentId }: Partial<QuoteRow>): Promise<PaymentFacts> => ({ ...stillOpen, intentId }),
    quoteIdOf: async (): Promise<string | undefined> => undefined,
    paymentOf: async (): Promise<ProviderPayment | undefined> => undefined,
    eventsSince: async function* (): AsyncGenerator<readonly ProviderEvent[]> {},
  };
  const worker = new CardWorker({
    ...context,
    log,
    intervalMs: day,
    ledgerId: async () => 'ours',
    now: () => clock.now,
    observe: (observation) => observed.push(observation),
    provider: {
      factsOf: async (quote) => {
        asked.push(`facts ${quote.intentId ?? quote.sessionId}`);
        return world.factsOf(quote);
      },
      quoteIdOf: async (intentId) => {
        asked.push(`quote of ${intentId}`);
        return world.quoteIdOf();
      },
      paymentOf: async (intentId) => {
        asked.push(`payment ${intentId}`);
        return world.paymentOf();
      },
      close: async ({ intentId }) => {
        asked.push(`close ${intentId}`);
      },
      refund: async (_quote, intentId) => {
        asked.push(`refund ${intentId}`);
        return undefined;
      },
      eventsSince: (since) => {
        asked.push(`events since ${since}`);
        return world.eventsSince();
      },
    },
  });
  t.after(() => worker.stop());
  /** All that a start sets going, up to its end. */
  const round = async () => {
    asked.length = 0;
    worker.start();
    await worker.settled();
    await worker.stop();
    return asked;
  };
  const stateOf = async (id: string) =>
    sql.get<{ state: string; attempts: number; due_at: number }>(
      'SELECT state, attempts, due_at FROM card_events WHERE id = ?',
      id,
    );
  const comes = (id: string, more: Partial<ProviderEvent> = {}) =>
    storeEvent(sql, anEvent(id, more), 'waiting', clock.now);
  const quoteRow = async (id = 'quote') => (await readQuote(sql, id)) ?? assert.fail(id);
  return { worker, calls, clock, asked, observed, world, round, stateOf, comes, quoteRow, sql, lines };
}

const dueAt = async (sql: Sql, id: string) =>
  (await sql.get<{ due_at: number }>('SELECT due_at FROM card_quotes WHERE id = ?', id))?.due_at;

forEachEngine((_engine, open) => {
  test('webhooks of one payment are one question, found by whatever they name it', async (t) => {
    const s = await setUp(t, await open(migrations));
    await addQuote(s.sql, 'b', { sessionId: 'cs_b' }, now + day);
    await addQuote(s.sql, 'c', {}, now + day);
    await addQuote(s.sql, 'd', {}, now + day);
    // The round does not ask about them by itself.
    await s.sql.run("UPDATE card_quotes SET state = 'paid'");
    await s.comes('1', { quoteId: 'quote' });
    await s.comes('2', { intentId: 'pi_1' });
    await s.comes('3', { sessionId: 'cs_b' });
    await s.comes('4', { intentId: 'pi_c', sessionId: 'cs_b' });
    await s.comes('5', { intentId: 'pi_new' });
    s.world.quoteIdOf = async () => 'd';
    const asked = (await s.round()).filter((one) => !one.startsWith('events'));
    assert.deepEqual(asked, ['quote of pi_new', ...['facts pi_1', 'facts pi_b', 'facts pi_c', 'facts pi_d']]);
    for (const id of ['1', '2', '3', '4', '5']) assert.equal((await s.stateOf(id))?.state, 'done', id);
  });

  test('a webhook of a quote that is not here is ours to tell only where it is paid for this ledger', async (t) => {
    const s = await setUp(t, await open(migrations));
    const payment: ProviderPayment = {
      ...{ intentId: 'pi_x', createdAt: now, isPaid: true, received: 5, currency: 'usd' },
      metadata: { quoteId: 'lost', ledgerId: 'ours' },
    };
    const cases: [string, ProviderPayment | undefined, string][] = [
      ['ours', payment, 'open'],
      ['unpaid', { ...payment, isPaid: false }, 'ignored'],
      ['theirs', { ...payment, metadata: { quoteId: 'lost', ledgerId: 'theirs' } }, 'ignored'],
      ['none', undefined, 'ignored'],
    ];
    for (const [id, found, state] of cases) {
      s.world.paymentOf = async () => found;
      await s.comes(id, { intentId: `pi_${id}` });
      assert.ok((await s.round()).includes(`payment pi_${id}`));
      assert.equal((await s.stateOf(id))?.state, state, id);
    }
    assert.deepEqual(
      (await openEvents(s.sql, 9)).map(({ id }) => id),
      ['ours'],
    );
    const told = s.lines.filter(({ msg }) => /whose quote is not here/.test(String(msg)));
    assert.deepEqual(
      told.map(({ event }) => event),
      ['ours'],
    );
    // One that names its quote needs no question whose it is; one that names nothing is nobody's.
    await s.comes('named', { intentId: 'pi_named', quoteId: 'lost' });
    await s.comes('nothing');
    const asked = await s.round();
    assert.ok(!asked.includes('quote of pi_named'));
    assert.equal((await s.stateOf('nothing'))?.state, 'ignored');
    assert.ok(s.observed.some((seen) => seen.kind === 'open-events' && seen.count === 1));
    // The provider knows its quote, which is not here either.
    s.world.quoteIdOf = async () => 'lost';
    await s.comes('lost', { intentId: 'pi_lost' });
    await s.round();
    assert.equal((await s.stateOf('lost'))?.state, 'ignored');
  });

  test('a webhook that cannot be dealt with is put off, longer each time, and left to a person in the end', async (t) => {
    const s = await setUp(t, await open(migrations));
    s.world.factsOf = away;
    s.world.quoteIdOf = away;
    s.world.paymentOf = away;
    await s.comes('known', { quoteId: 'quote' });
    await s.comes('unknown', { intentId: 'pi_x' });
    await s.comes('lost', { intentId: 'pi_x', quoteId: 'lost' });
    await s.round();
    for (const id of ['known', 'unknown', 'lost'])
      assert.deepEqual(await s.stateOf(id), { state: 'waiting', attempts: 1, due_at: now + second }, id);
    s.clock.now += second;
    await s.round();
    assert.deepEqual(await s.stateOf('known'), {
      ...{ state: 'waiting', attempts: 2, due_at: s.clock.now + 2 * second },
    });
    s.clock.now += minute;
    await s.sql.run("UPDATE card_events SET attempts = CASE WHEN id = 'known' THEN 200 ELSE 199 END");
    await s.round();
    const soon = await s.stateOf('known');
    assert.deepEqual(
      [soon?.state, soon?.attempts],
      ['waiting', 201],
      'many tries at once are no day and a half',
    );
    s.clock.now = now + 36 * hour;
    await s.sql.run("UPDATE card_events SET attempts = CASE WHEN id = 'known' THEN 200 ELSE 199 END");
    await s.round();
    assert.equal((await s.stateOf('known'))?.state, 'open');
    assert.equal((await s.stateOf('unknown'))?.state, 'waiting');
    assert.deepEqual(s.observed.at(-1), { kind: 'open-events', count: 1 });
  });

  test('it looks at webhooks again when the next is due, within ten minutes', async (t) => {
    const s = await setUp(t, await open(migrations));
    /** In seconds, rounded up: some of it has passed already. */
    const nextIn = async () => {
      s.worker.start();
      await s.worker.settled();
      const { nextAt } = s.worker.reports().find(({ name }) => name === 'card webhooks') ?? {};
      await s.worker.stop();
      return typeof nextAt === 'number' ? Math.ceil((nextAt - Date.now()) / (100 * second)) * 100 : nextAt;
    };
    assert.equal(await nextIn(), null, 'nothing waits');
    await s.comes('1', { quoteId: 'quote' });
    await s.sql.run('UPDATE card_events SET due_at = ?', now + 200 * second);
    assert.equal(await nextIn(), 200);
    await s.sql.run('UPDATE card_events SET due_at = ?', now + 15 * minute);
    assert.equal(await nextIn(), 600);
  });

  test('stopped, it ends with the payment that it is at', async (t) => {
    const s = await setUp(t, await open(migrations));
    await addQuote(s.sql, 'b');
    await s.comes('1', { quoteId: 'quote' });
    await s.comes('2', { quoteId: 'b' });
    let stopped: Promise<void> | undefined;
    s.world.factsOf = async ({ intentId }) => {
      stopped ??= s.worker.stop();
      return { ...stillOpen, intentId };
    };
    s.worker.wake();
    s.worker.start();
    await s.worker.settled();
    await stopped;
    const questions = s.asked.filter((one) => one.startsWith('facts'));
    assert.ok(questions.length <= 2, 'one of each task that ran');
    const left = await s.sql.all("SELECT id FROM card_events WHERE state = 'waiting'");
    const due = await s.sql.all('SELECT id FROM card_quotes WHERE attempts = 0');
    assert.ok(left.length > 0 && due.length > 0, 'the rest waits for the next start');
  });

  test('a quote without a session is given up after a while, and one that nobody paid is closed in the end', async (t) => {
    const s = await setUp(t, await open(migrations));
    await addQuote(s.sql, 'bare', { intentId: undefined, state: 'opening' });
    s.clock.now = now + 5 * minute;
    await s.worker.bringUpToDate('bare', undefined);
    assert.equal((await s.quoteRow('bare')).state, 'opening');
    s.clock.now += 1;
    await s.worker.bringUpToDate('bare', undefined);
    assert.deepEqual(
      [(await s.quoteRow('bare')).state, (await s.quoteRow('bare')).failure],
      ['failed', 'abandoned'],
    );
    assert.deepEqual(s.asked, []);
    await s.worker.bringUpToDate('nobody', 'pi_x');
    assert.deepEqual(s.asked, []);

    s.clock.now = aQuote.payableUntil;
    await s.worker.bringUpToDate('quote', undefined);
    assert.equal((await s.quoteRow()).state, 'quoted');
    assert.deepEqual(s.asked.splice(0), ['facts pi_1']);
    s.clock.now += 1;
    await s.worker.bringUpToDate('quote', undefined);
    assert.deepEqual(s.asked.splice(0), ['facts pi_1', 'close pi_1', 'facts pi_1']);
    assert.deepEqual([(await s.quoteRow()).state, (await s.quoteRow()).failure], ['failed', 'expired']);
    // What was paid while it was closed counts.
    await addQuote(s.sql, 'late', { payableUntil: s.clock.now - 1 });
    s.world.factsOf = async () =>
      s.asked.includes('close pi_late')
        ? { ...paid, intentId: 'pi_late', received: { amount: 1000, currency: 'usd', at: now } }
        : { ...stillOpen, intentId: 'pi_late' };
    await s.worker.bringUpToDate('late', undefined);
    assert.equal((await s.quoteRow('late')).state, 'paid');
  });

  test('what is owed goes back, and what a payment took or gave is told', async (t) => {
    const s = await setUp(t, await open(migrations));
    s.world.factsOf = async () => paid;
    await s.worker.bringUpToDate('quote', undefined);
    assert.deepEqual(
      s.observed.splice(0).map(({ kind }) => kind),
      ['paid'],
    );
    s.world.factsOf = async () => ({ ...paid, disputed: true });
    await s.worker.bringUpToDate('quote', undefined);
    assert.deepEqual(
      s.observed.splice(0).map(({ kind }) => kind),
      ['taken-back', 'losses'],
    );
    s.world.factsOf = async () => paid;
    await s.worker.bringUpToDate('quote', undefined);
    assert.deepEqual(
      s.observed.splice(0).map(({ kind }) => kind),
      ['given-back', 'losses'],
    );
    assert.ok(!s.asked.includes('refund pi_1'));
    await addQuote(s.sql, 'b', { paymentAmount: 1001 });
    s.world.factsOf = async () => ({ ...paid, intentId: 'pi_b' });
    await s.worker.bringUpToDate('b', undefined);
    assert.ok(s.asked.includes('refund pi_b'));
  });

  test('a start asks about everything open, tells how much is owed, and reads on from the newest event', async (t) => {
    const s = await setUp(t, await open(migrations));
    await s.sql.run('UPDATE card_quotes SET due_at = ?', now + 30 * minute);
    await storeEvent(s.sql, anEvent('old'), 'ignored', now - 40 * day - 1);
    await storeEvent(s.sql, anEvent('young'), 'ignored', now - 40 * day);
    s.world.eventsSince = async function* () {
      yield [anEvent('new', { quoteId: 'quote', created: 77 }), anEvent('other', { created: 70 })];
      yield [anEvent('new', { quoteId: 'quote', created: 60 })];
    };
    const asked = await s.round();
    assert.deepEqual(asked, ['facts pi_1', `events since ${(now - day) / 1000}`, 'facts pi_1']);
    assert.equal(await readCursor(s.sql), 77);
    assert.equal((await s.stateOf('new'))?.state, 'done');
    assert.deepEqual([await s.stateOf('old'), (await s.stateOf('young'))?.state], [undefined, 'ignored']);
    assert.deepEqual(
      s.observed.map(({ kind }) => kind).filter((kind) => kind !== 'open-events'),
      ['refunds', 'losses'],
    );
    // Asked for once in a life: later rounds take what is due.
    await s.sql.run('UPDATE card_quotes SET due_at = ?', now + 30 * minute);
    s.world.eventsSince = async function* () {};
    assert.deepEqual(await s.round(), [`events since ${77 - 300}`]);
    assert.equal(await readCursor(s.sql), 77);
    const ahead = now / 1000 + 300;
    await writeCursor(s.sql, ahead);
    assert.deepEqual(await s.round(), [`events since ${ahead - 300}`]);
    await writeCursor(s.sql, ahead + 1);
    assert.deepEqual(await s.round(), [`events since ${(now - day) / 1000}`], 'a clock that was ahead');
  });

  test('a list that breaks off is read again from where it was read to', async (t) => {
    const s = await setUp(t, await open(migrations));
    await writeCursor(s.sql, 50);
    s.world.eventsSince = async function* () {
      yield [anEvent('new', { quoteId: 'quote', created: 77 })];
      await away();
    };
    await s.round();
    assert.equal(await readCursor(s.sql), 50);
    assert.ok(s.worker.reports().every(({ failures }) => failures === 0));
    s.world.eventsSince = async function* () {
      yield [];
      throw new Error('nobody expected that');
    };
    await s.round();
    assert.deepEqual(
      s.worker.reports().map(({ failures }) => failures),
      [0, 0, 1],
    );
  });

  test('a provider that is away is not asked about all of them, and each is put off by itself', async (t) => {
    const s = await setUp(t, await open(migrations));
    for (let index = 0; index < 60; index += 1) await addQuote(s.sql, `q${index}`, {}, now - 100 + index);
    s.world.factsOf = away;
    await s.worker.start();
    await s.worker.settled();
    await s.worker.stop();
    const put = (await s.sql.all('SELECT id FROM card_quotes WHERE attempts > 0')).length;
    assert.equal(put, 5, 'after five without an answer');
    assert.equal(await dueAt(s.sql, 'q0'), now + 64 * second);

    s.world.factsOf = async ({ intentId }) => {
      if (intentId === 'pi_q5') throw new Error('one that cannot be read');
      return { ...stillOpen, intentId };
    };
    const asked = await s.round();
    assert.ok(asked.includes('facts pi_q5') && asked.includes('facts pi_q6') && asked.includes('facts pi_1'));
  });

  test('each is asked about once in a round, more than one batch of them', async (t) => {
    const s = await setUp(t, await open(migrations));
    await s.sql.transaction(async (tx) => {
      for (let index = 0; index < 60; index += 1)
        await insertQuote(tx, {
          row: { ...aQuote, id: `q${index}`, intentId: `pi_q${index}` },
          ...{ adjustments: '[]', referer: null, dueAt: now - 1 },
        });
    });
    const questions = (await s.round()).filter((one) => one.startsWith('facts'));
    assert.deepEqual([questions.length, new Set(questions).size], [61, 61]);
  });

  test('a quote is looked at again when it can no longer be paid, and a refund that is left to a person daily', async (t) => {
    const s = await setUp(t, await open(migrations));
    await addQuote(s.sql, 'ending', { payableUntil: now + 3 * second });
    await addQuote(s.sql, 'over', { state: 'paid', payableUntil: now - 2 * second, refundDue: true });
    await addQuote(s.sql, 'left', {
      ...{ state: 'failed', refundDue: true, undelivered: true, refundTries: mostRefundTries },
      payableUntil: now - 2 * second,
    });
    s.world.factsOf = async ({ intentId }) =>
      intentId === 'pi_left' || intentId === 'pi_over' ? { ...paid, intentId } : { ...stillOpen, intentId };
    await s.round();
    assert.equal(await dueAt(s.sql, 'ending'), now + 4 * second);
    assert.equal(await dueAt(s.sql, 'quote'), now + 64 * second);
    assert.equal(await dueAt(s.sql, 'over'), now + 64 * second);
    assert.equal(await dueAt(s.sql, 'left'), now + day);
  });
});
