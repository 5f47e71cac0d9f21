import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { migrations } from './migrations.ts';
import { compareKeys } from './order.ts';
import { SegmentBuilder } from './segment-builder.ts';
import { nextSegments, orderStart } from './segments.ts';
import { SqlGatewayIndex } from './sql-index.ts';
import { tagTerm, termKinds } from './terms.ts';
import { entry, everything, header, rawTags } from './testing.ts';

const sizes = { small: 8, large: 32 };

/** The same database, where something happens just before the first transaction. */
function beforeFirstTransaction(sql: Sql, happens: () => Promise<unknown>): Sql {
  let isFirst = true;
  return {
    engine: sql.engine,
    forUpdate: sql.forUpdate,
    all: (text, ...values) => sql.all(text, ...values),
    get: (text, ...values) => sql.get(text, ...values),
    run: (text, ...values) => sql.run(text, ...values),
    async transaction(work) {
      const isNow = isFirst;
      isFirst = false;
      if (isNow) await happens();
      return sql.transaction(work);
    },
    stream: (text, ...values) => sql.stream(text, ...values),
    visible: () => sql.visible(),
    close: () => sql.close(),
  };
}

forEachEngine((_engine, open) => {
  async function fresh() {
    const sql = await open(migrations);
    const index = new SqlGatewayIndex(sql, () => 1_000, undefined, undefined, 1);
    const put = async (...heights: number[]) => {
      const prepared = await index.writer.prepare(
        heights.map((height) => {
          const tags = rawTags({ Parity: height % 2 === 0 ? 'even' : 'odd', All: 'yes' });
          return entry(header(`at ${height}`, { tags }), { height, blockIndex: 0 });
        }),
      );
      await sql.transaction((tx) => index.writer.put(tx, prepared));
    };
    const tag = (name: string, value: string) =>
      index.terms.findAll(termKinds.tag, [tagTerm(Buffer.from(name), Buffer.from(value)).hash]);
    const heights = async () => {
      const keys = await index.search.page({
        criteria: { ...everything, groups: [await tag('All', 'yes'), await tag('Parity', 'odd')] },
        order: 'height',
        ascending: true,
        after: undefined,
        limit: 1_000,
        signal: undefined,
      });
      return keys.map(({ pos }) => pos / 2 ** 18);
    };
    const segments = () => nextSegments(sql, true, undefined, 100);
    return { sql, index, put, heights, segments };
  }

  const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
  const odd = (all: readonly number[]) => all.filter((height) => height % 2 === 1);

  async function makeAll(sql: Sql): Promise<void> {
    const builder = new SegmentBuilder(sql, sizes);
    while (await builder.round());
  }

  it('makes them of what is enough for one, without gaps, and large ones of small ones', async () => {
    const { sql, put, segments } = await fresh();
    await put(...numbers(0, 7));
    await makeAll(sql);
    assert.deepEqual(await segments(), []);
    for (let from = 7; from < 327; from += 8) {
      await put(...numbers(from, from + 8));
      await makeAll(sql);
    }
    const made = await segments();
    assert.deepEqual(made[0]?.begin, orderStart);
    made.forEach(({ begin }, at) => {
      if (at > 0) assert.equal(compareKeys(begin, made[at - 1]?.end ?? orderStart), 0);
    });
    assert.equal(
      made.reduce((sum, { members }) => sum + members, 0),
      327,
    );
    assert.ok(made.filter(({ members }) => members >= 24).length >= 4, JSON.stringify(made));
    assert.ok(made.every(({ isStale }) => !isStale));
    const left = await sql.get<{ n: number }>('SELECT count(*) AS n FROM segment_changes');
    assert.equal(left?.n, 0);
    const parts = await sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM segment_parts WHERE segment NOT IN (SELECT segment FROM segments)',
    );
    assert.equal(parts?.n, 0);
  });

  it('takes one for stale as soon as something came into it, and when that came while it was made', async () => {
    const { sql, put, heights, segments } = await fresh();
    await put(...numbers(0, 20), ...numbers(30, 50));
    await makeAll(sql);
    await put(25);
    assert.ok((await segments()).some(({ isStale }) => isStale));
    assert.deepEqual(await heights(), odd([...numbers(0, 20), 25, ...numbers(30, 50)]));

    const late = beforeFirstTransaction(sql, () => put(27));
    assert.equal(await new SegmentBuilder(late, sizes).round(), true);
    assert.ok((await segments()).some(({ isStale }) => isStale));
    const all = [...numbers(0, 20), 25, 27, ...numbers(30, 50)];
    assert.deepEqual(await heights(), odd(all));
    await makeAll(sql);
    assert.ok((await segments()).every(({ isStale }) => !isStale));
    assert.deepEqual(await heights(), odd(all));
  });

  it('loses to another process that made the same one', async () => {
    const { sql, put, heights, segments } = await fresh();
    await put(...numbers(0, 20));
    const other = new SegmentBuilder(sql, sizes);
    const slow = beforeFirstTransaction(sql, () => other.round());
    assert.equal(await new SegmentBuilder(slow, sizes).round(), true);
    assert.equal((await segments()).length, 1);
    assert.deepEqual(await heights(), odd(numbers(0, 20)));
  });
});
