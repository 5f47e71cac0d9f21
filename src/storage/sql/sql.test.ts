import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Migration, type SqlExecutor, UniqueViolation } from './sql.ts';
import { forEachEngine } from './testing.ts';

const migrations: Migration[] = [
  {
    id: 'test-001-tables',
    up: `
      CREATE TABLE things (
        id SERIAL_KEY,
        name TEXT NOT NULL UNIQUE DEFAULT 'AMOUNT', -- the word BIGINT in a comment
        amount AMOUNT,
        bytes BYTES,
        count BIGINT
      );
      CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
      CREATE TABLE parts (thing BIGINT NOT NULL REFERENCES things (id) DEFERRABLE INITIALLY DEFERRED);
    `,
  },
];

const insert = 'INSERT INTO things (name, amount, bytes, count) VALUES (?, ?, ?, ?)';

async function names(sql: SqlExecutor): Promise<string[]> {
  const rows = await sql.all<{ name: string }>('SELECT name FROM things ORDER BY name');
  return rows.map((row) => row.name);
}

forEachEngine((engine, open) => {
  it('returns what was stored, in the same types', async () => {
    const sql = await open(migrations);
    const amount = 9_999_999_999_999_999_999_999_999_999_999_999_999_999n;
    const bytes = Buffer.from([0, 1, 254, 255]);
    assert.equal(await sql.run(insert, 'full', amount, bytes, Number.MAX_SAFE_INTEGER), 1);
    assert.equal(await sql.run(insert, 'least', '0', new Uint8Array(0), Number.MIN_SAFE_INTEGER), 1);
    assert.equal(await sql.run(insert, 'empty', null, null, null), 1);
    assert.deepEqual(await sql.all('SELECT name, amount, bytes, count FROM things ORDER BY id'), [
      { name: 'full', amount: amount.toString(), bytes, count: Number.MAX_SAFE_INTEGER },
      { name: 'least', amount: '0', bytes: Buffer.alloc(0), count: Number.MIN_SAFE_INTEGER },
      { name: 'empty', amount: null, bytes: null, count: null },
    ]);
    const row = await sql.get<{ bytes: Buffer }>("SELECT bytes FROM things WHERE name = 'full'");
    assert.ok(Buffer.isBuffer(row?.bytes));
    assert.equal(await sql.get('SELECT name FROM things WHERE name = ?', 'nobody'), undefined);
  });

  it('stores whole numbers and bigints in an amount as plain digits', async () => {
    const sql = await open(migrations);
    await sql.run(insert, 'number', 5, null, null);
    await sql.run(insert, 'bigint', 5n, null, 7n);
    assert.deepEqual(await sql.all('SELECT amount, count FROM things ORDER BY id'), [
      { amount: '5', count: null },
      { amount: '5', count: 7 },
    ]);
  });

  it('refuses integers that a number cannot hold, going in and coming out', async () => {
    const sql = await open(migrations);
    await assert.rejects(sql.run(insert, 'beyond', null, null, 2 ** 53), RangeError);
    await assert.rejects(sql.run(insert, 'beyond', null, null, Number.NaN), RangeError);
    assert.deepEqual(await names(sql), []);
    await sql.run(insert, 'beyond', null, null, 2n ** 53n);
    await assert.rejects(sql.get('SELECT count FROM things'), RangeError);
    assert.deepEqual(await names(sql), ['beyond']);
  });

  it('refuses a statement with too few or too many values, and changes nothing', async () => {
    const sql = await open(migrations);
    await assert.rejects(sql.run(insert, 'few'), TypeError);
    await assert.rejects(sql.run(insert, 'many', null, null, null, null), TypeError);
    await assert.rejects(sql.all('SELECT name FROM things WHERE name = ?'), TypeError);
    assert.deepEqual(await names(sql), []);
  });

  it('answers rows of INSERT … RETURNING with growing keys', async () => {
    const sql = await open(migrations);
    const statement = "INSERT INTO things (name) VALUES (? || '?') RETURNING id, name";
    const first = await sql.get<{ id: number; name: string }>(statement, 'a');
    const second = await sql.all<{ id: number; name: string }>(statement, 'b');
    assert.deepEqual([first?.name, second[0]?.name], ['a?', 'b?']);
    assert.ok(second[0]!.id > first!.id);
  });

  it('names a violated UNIQUE or PRIMARY KEY constraint', async () => {
    const sql = await open(migrations);
    await sql.run("INSERT INTO counters VALUES ('a', 1)");
    await assert.rejects(sql.run("INSERT INTO counters VALUES ('a', 2)"), UniqueViolation);
    await sql.run(insert, 'a', null, null, null);
    await assert.rejects(
      sql.transaction((tx) => tx.run(insert, 'a', null, null, null)),
      UniqueViolation,
    );
    assert.deepEqual(await sql.all('SELECT * FROM counters'), [{ name: 'a', value: 1 }]);
  });

  it('rolls back a transaction that throws and leaves those beside it', async () => {
    const sql = await open(migrations);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        sql.transaction(async (tx) => {
          await tx.run(insert, `first-${index}`, null, null, null);
          if (index % 7 === 0) throw new Error(`no ${index}`);
          await tx.run(insert, `second-${index}`, null, null, null);
          return index;
        }),
      ),
    );
    const kept = outcomes.flatMap((_, index) => (index % 7 === 0 ? [] : [index]));
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
      outcomes.map((_, index) => (index % 7 === 0 ? `no ${index}` : index)),
    );
    assert.deepEqual(await names(sql), kept.flatMap((index) => [`first-${index}`, `second-${index}`]).sort());
  });

  it('fails a transaction of which one statement failed, even when its work carries on', async () => {
    const sql = await open(migrations);
    await sql.run(insert, 'taken', null, null, null);
    const told: unknown[] = [];
    const tell = (error: unknown) => void told.push(error);
    const swallowed = sql.transaction(async (tx) => {
      await tx.run(insert, 'before', null, null, null);
      await tx.run(insert, 'taken', null, null, null).catch(tell);
      await tx.run(insert, 'after', null, null, null).catch(tell);
    });
    await assert.rejects(swallowed, UniqueViolation);
    assert.ok(
      told.length === 2 && told.every((error) => error instanceof UniqueViolation),
      'the work is told',
    );
    assert.deepEqual(await names(sql), ['taken']);
  });

  it('fails only the transaction that breaks a constraint deferred to its commit', async () => {
    const sql = await open(migrations);
    const [good, bad, other] = await Promise.allSettled([
      sql.transaction((tx) => tx.run(insert, 'good', null, null, null)),
      sql.transaction(async (tx) => {
        await tx.run(insert, 'bad', null, null, null);
        await tx.run('INSERT INTO parts VALUES (?)', 1_000_000);
      }),
      sql.transaction((tx) => tx.run(insert, 'other', null, null, null)),
    ]);
    assert.deepEqual([good?.status, bad?.status, other?.status], ['fulfilled', 'rejected', 'fulfilled']);
    assert.deepEqual(await names(sql), ['good', 'other']);
  });

  it('hides what is not committed from reads, and shows it to its own transaction', async () => {
    const sql = await open(migrations);
    const seen = await sql.transaction(async (tx) => {
      await tx.run(insert, 'new', null, null, null);
      return { inside: await names(tx), outside: await names(sql) };
    });
    assert.deepEqual(seen, { inside: ['new'], outside: [] });
    assert.deepEqual(await names(sql), ['new']);
  });

  it('loses no increment of many at once', async () => {
    const sql = await open(migrations);
    await sql.run("INSERT INTO counters VALUES ('hits', 0)");
    await Promise.all(
      Array.from({ length: 200 }, () =>
        sql.transaction(async (tx) => {
          const row = await tx.get<{ value: number }>(
            `SELECT value FROM counters WHERE name = 'hits' ${tx.forUpdate}`,
          );
          await tx.run("UPDATE counters SET value = ? WHERE name = 'hits'", row!.value + 1);
        }),
      ),
    );
    assert.deepEqual(await sql.get('SELECT value FROM counters'), { value: 200 });
  });

  it('runs the transactions of one queue one after the other, and undoes only those that throw', async () => {
    const sql = await open(migrations);
    await sql.run(insert, 'counter', '0', Buffer.alloc(0), 0);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, number) =>
        sql.transaction(async (tx) => {
          const row = await tx.get<{ count: number }>(
            `SELECT count FROM things WHERE name = 'counter' ${tx.forUpdate}`,
          );
          await tx.run(`UPDATE things SET count = ? WHERE name = 'counter'`, (row?.count ?? 0) + 1);
          if (number % 10 === 3) throw new Error(`number ${number} is refused`);
          // A statement that fails is another way to fail.
          if (number % 10 === 7) await tx.run(insert, 'counter', '0', Buffer.alloc(0), 0);
          return number;
        }, 'counter'),
      ),
    );
    for (const [number, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') assert.equal(outcome.value, number);
      else if (number % 10 === 3)
        assert.match(String(outcome.reason), new RegExp(`number ${number} is refused`));
      else assert.ok(number % 10 === 7 && outcome.reason instanceof UniqueViolation);
    }
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 40);
    const left = await sql.get<{ count: number }>(`SELECT count FROM things WHERE name = 'counter'`);
    assert.equal(left?.count, 40);
  });

  it('refuses a statement that comes after its transaction', async () => {
    const sql = await open(migrations);
    let leaked: SqlExecutor | undefined;
    await sql.transaction(async (tx) => {
      leaked = tx;
    });
    await assert.rejects(leaked!.run(insert, 'late', null, null, null), /after the end/);
    const failed = sql.transaction(async (tx) => {
      leaked = tx;
      throw new Error('no');
    });
    await assert.rejects(failed, /no/);
    await assert.rejects(leaked!.run(insert, 'late', null, null, null), /after the end/);
    assert.deepEqual(await names(sql), []);
  });

  it('streams rows, also when the reader leaves early', async () => {
    const sql = await open(migrations);
    await sql.transaction(async (tx) => {
      for (let index = 0; index < 1_000; index += 1) {
        await tx.run('INSERT INTO counters VALUES (?, ?)', `c${index}`, index);
      }
    });
    let sum = 0;
    for await (const row of sql.stream<{ value: number }>(
      'SELECT value FROM counters WHERE value >= ?',
      10,
    )) {
      sum += row.value;
    }
    assert.equal(sum, (999 * 1_000) / 2 - 45);
    for await (const row of sql.stream<{ value: number }>('SELECT value FROM counters ORDER BY value')) {
      if (row.value === 300) break;
    }
    assert.deepEqual(await sql.get('SELECT count(*) AS n FROM counters'), { n: 1_000 });
  });

  it('answers waiting transactions before it closes, and none after', async () => {
    const sql = await open(migrations, 'same');
    const waiting = sql.run(insert, 'last', null, null, null);
    const queued = ['one', 'three', 'two'].map((name) =>
      sql.transaction((tx) => tx.run(insert, name, null, null, null), 'queue'),
    );
    await sql.close();
    assert.equal(await waiting, 1);
    assert.deepEqual(await Promise.all(queued), [1, 1, 1]);
    await assert.rejects(sql.run(insert, 'late', null, null, null), { name: 'DatabaseUnavailable' });
    await assert.rejects(names(sql), { name: 'DatabaseUnavailable' });
    assert.deepEqual(await names(await open(migrations, 'same')), ['last', 'one', 'three', 'two']);
    assert.equal(sql.engine, engine);
  });
});
