import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Sql } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { insertBlock } from './blocks.ts';
import { dropPending } from './drop.ts';
import { migrations } from './migrations.ts';
import { DATA_ITEM, PENDING_POS } from './order.ts';
import type { Criteria } from './page-request.ts';
import type { Entry } from './records.ts';
import { Search } from './search.ts';
import { SqlGatewayIndex } from './sql-index.ts';
import { EVERY_TERM, tagTerm, termKinds } from './terms.ts';
import { digest, entry, everything, header, rawTags } from './testing.ts';

forEachEngine((engine, open) => {
  async function fresh(now = () => 1_700_000_000) {
    const index = new SqlGatewayIndex(await open(migrations), now);
    const put = async (...entries: Entry[]) => {
      const prepared = await index.writer.prepare(entries);
      return index.sql.transaction((tx) => index.writer.put(tx, prepared));
    };
    const ids = async (criteria: Partial<Criteria> = {}, ascending = true) => {
      const keys = await index.search.page({
        criteria: { ...everything, ...criteria },
        order: 'height',
        ascending,
        after: undefined,
        limit: 1_000,
        signal: undefined,
      });
      const rows = await index.sql.all<{ record: number; id: Buffer }>('SELECT record, id FROM records');
      const names = new Map(rows.map((row) => [row.record, row.id.toString('hex')]));
      return keys.map((key) => names.get(key.record));
    };
    const tag = async (name: string, value: string) =>
      index.terms.findAll(termKinds.tag, [tagTerm(Buffer.from(name), Buffer.from(value)).hash]);
    return { index, put, ids, tag };
  }
  const hex = (name: string) => digest(name).toString('hex');

  it('answers in order of height, index in block, transactions before items, pending last', async () => {
    const { index, put, ids } = await fresh();
    const [first] = await put(entry(header('a'), { height: 5, blockIndex: 1 }));
    await put(entry(header('b'), { height: 5, blockIndex: 0 }), entry(header('c')));
    const root = first?.record ?? 0;
    const placed = { root, parent: root, parentOffset: 0, itemOffset: 96, dataOffset: 1200, itemSize: 1210 };
    await put(
      entry(header('d', { kind: DATA_ITEM }), { height: 5, blockIndex: 1 }, { placed, bundle: digest('a') }),
      entry(header('e'), { height: 4, blockIndex: 7 }),
      entry(header('f'), { height: 0, blockIndex: 0 }),
    );
    const order = ['f', 'e', 'b', 'a', 'd', 'c'].map(hex);
    assert.deepEqual(await ids(), order);
    assert.deepEqual(await ids({}, false), order.toReversed());
    const located = await index.locate(digest('d').toString('base64url'));
    assert.equal(located?.placement?.root, digest('a').toString('base64url'));
    assert.equal(located?.placement?.dataOffsetInRoot, 1200);
  });

  it('upgrades an optimistic item when its bundle is read, and never the other way round', async () => {
    const { index, put, ids, tag } = await fresh();
    const announced = header('item', { kind: DATA_ITEM, tags: rawTags({ a: 'announced' }), signature: null });
    const signed = header('item', { kind: DATA_ITEM, tags: rawTags({ a: 'signed' }), dataSize: 9 });
    await put(entry(announced));
    const [root] = await put(entry(header('root'), { height: 3, blockIndex: 0 }));
    const record = root?.record ?? 0;
    const placed = {
      root: record,
      parent: record,
      parentOffset: 0,
      itemOffset: 96,
      dataOffset: 100,
      itemSize: 109,
    };
    await put(entry(signed, { height: 3, blockIndex: 0 }, { placed, bundle: digest('root') }));
    await put(entry(announced));
    assert.deepEqual(await ids({ groups: [await tag('a', 'announced')] }), []);
    assert.deepEqual(await ids({ groups: [await tag('a', 'signed')] }), [hex('item')]);
    assert.deepEqual(await ids(), [hex('root'), hex('item')]);
    const located = await index.locate(digest('item').toString('base64url'));
    assert.deepEqual([located?.height, located?.size, located?.placement?.itemSize], [3, 9, 109]);
    assert.equal(
      (await index.proof(digest('item').toString('base64url')))?.signature,
      signed.signature?.toString('base64url'),
    );
  });

  it('finds at once that terms in different stretches of the chain hardly meet', async () => {
    const { index, put, ids, tag } = await fresh();
    const entries = Array.from({ length: 3_000 }, (_, at) => {
      const old = at < 1_500;
      const both = at === 2_999;
      const tags = { Old: old || both ? 'yes' : 'no', New: old ? 'no' : 'yes' };
      return entry(header(`one ${at}`, { tags: rawTags(tags) }), { height: 10 + at, blockIndex: 0 });
    });
    for (let at = 0; at < entries.length; at += 100) await put(...entries.slice(at, at + 100));
    const criteria = { groups: [await tag('Old', 'yes'), await tag('New', 'yes')] };
    for (const ascending of [true, false]) {
      assert.deepEqual(await ids(criteria, ascending), [hex('one 2999')]);
      let statements = 0;
      const { sql } = index;
      const counting: Sql = {
        engine: sql.engine,
        forUpdate: sql.forUpdate,
        all: (text, ...values) => {
          statements += 1;
          return sql.all(text, ...values);
        },
        get: (text, ...values) => sql.get(text, ...values),
        run: (text, ...values) => sql.run(text, ...values),
        transaction: (work) => sql.transaction(work),
        stream: (text, ...values) => sql.stream(text, ...values),
        visible: () => sql.visible(),
        close: () => sql.close(),
      };
      const page = await new Search(counting).page({
        criteria: { ...everything, ...criteria },
        order: 'height',
        ascending,
        after: undefined,
        limit: 10,
        signal: undefined,
      });
      assert.equal(page.length, 1);
      assert.ok(statements <= 6, `${statements} steps`);
    }
  });

  it('takes a fork back: records above become pending, keep their terms, and are mined again with their items', async () => {
    const { index, put, ids, tag } = await fresh();
    const tagged = rawTags({ App: 'x' });
    const [root] = await put(entry(header('root', { tags: tagged }), { height: 10, blockIndex: 2 }));
    const record = root?.record ?? 0;
    const items = Array.from({ length: 300 }, (_, index) =>
      entry(
        header(`item ${index}`, { kind: DATA_ITEM, tags: tagged }),
        { height: 10, blockIndex: 2 },
        {
          placed: {
            root: record,
            parent: record,
            parentOffset: 0,
            itemOffset: index,
            dataOffset: index,
            itemSize: 1,
          },
          bundle: digest('root'),
        },
      ),
    );
    await put(...items);
    await put(entry(header('below'), { height: 9, blockIndex: 0 }));
    while (await index.writer.unmine(index.sql, 9));
    const pending = await ids({ minPos: PENDING_POS });
    assert.equal(pending.length, 301);
    assert.deepEqual(await ids({ maxPos: PENDING_POS - 1 }), [hex('below')]);
    assert.equal((await ids({ groups: [await tag('App', 'x')] })).length, 301);

    await put(entry(header('root', { tags: tagged }), { height: 11, blockIndex: 0 }));
    while (await index.writer.reposition(index.sql));
    assert.equal((await ids({ minPos: PENDING_POS })).length, 0);
    const located = await index.locate(digest('item 7').toString('base64url'));
    assert.equal(located?.height, 11);
    const counted = await index.sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM postings WHERE term = ?',
      EVERY_TERM,
    );
    assert.equal(counted?.n, 302);
  });

  it('forgets records that were never mined, with everything that points at them', async () => {
    let now = 1_000;
    const { index, put, ids } = await fresh(() => now);
    await put(entry(header('old', { tags: rawTags({ a: 'b' }) })));
    now = 2_000;
    await put(entry(header('new')), entry(header('mined'), { height: 1, blockIndex: 0 }));
    assert.equal(await dropPending(index.sql, 1_500), 1);
    assert.deepEqual(await ids(), [hex('mined'), hex('new')]);
    assert.equal(await index.locate(digest('old').toString('base64url')), undefined);
    const left = await index.sql.get<{ n: number }>('SELECT count(*) AS n FROM signatures');
    assert.equal(left?.n, 2);
  });

  it('intersects groups, excludes terms, and pages without loss or repetition', async () => {
    const { index, put, tag } = await fresh();
    const entries = Array.from({ length: 500 }, (_, i) =>
      entry(header(`t${i}`, { tags: rawTags({ two: String(i % 2), three: String(i % 3), all: 'y' }) }), {
        height: Math.floor(i / 10),
        blockIndex: i % 10,
      }),
    );
    for (let at = 0; at < entries.length; at += 128) await put(...entries.slice(at, at + 128));
    const criteria = {
      ...everything,
      groups: [await tag('all', 'y'), [...(await tag('three', '0')), ...(await tag('three', '1'))]],
      none: await tag('two', '1'),
    };
    const seen: number[] = [];
    for (
      let after: (typeof pages)[number] | undefined,
        pages: { pos: number; tie: number; record: number }[] = [];
      ;
    ) {
      pages = await index.search.page({
        criteria,
        order: 'height',
        ascending: false,
        after,
        limit: 7,
        signal: undefined,
      });
      seen.push(...pages.map((key) => key.record));
      after = pages.at(-1);
      if (pages.length < 7) break;
    }
    const expected = entries.filter((_, i) => i % 2 === 0 && i % 3 !== 2).length;
    assert.equal(seen.length, expected);
    assert.equal(new Set(seen).size, expected);
    assert.equal(await index.search.count(criteria, 10_000), expected);
  });

  it('keeps blocks with the JSON they came with', async () => {
    const { index } = await fresh();
    const json = '{"height":7, "odd":  spacing}';
    await index.sql.transaction((tx) =>
      insertBlock(tx, {
        height: 7,
        id: Buffer.alloc(48, 7),
        previous: Buffer.alloc(48, 6),
        timestamp: 5,
        txCount: 0,
        blockSize: '0',
        weaveSize: '0',
        json: Buffer.from(json),
      }),
    );
    await index.refresh();
    assert.equal(index.height, 7);
    assert.equal(await index.blockJson(7), json);
    assert.equal(await index.blockJson(Buffer.alloc(48, 7).toString('base64url')), json);
    assert.equal(await index.blockJson(8), undefined);
  });

  it('never replaces a proven hash by an unproven one', async () => {
    const { index, put } = await fresh();
    await put(entry(header('a', { dataSize: 3 }), { height: 1, blockIndex: 0 }));
    const id = digest('a').toString('base64url');
    const [right, wrong] = [digest('right').toString('base64url'), digest('wrong').toString('base64url')];
    assert.equal(await index.noteVerified(id, wrong, false), true);
    assert.equal(await index.noteVerified(id, right, true), true);
    assert.equal(await index.noteVerified(id, wrong, false), true);
    assert.deepEqual([(await index.locate(id))?.hash, (await index.locate(id))?.verified], [right, true]);
    assert.equal(await index.noteVerified(digest('unknown').toString('base64url'), right, true), false);
  });

  if (engine === 'postgres') {
    it('has new terms counted, so that they are looked up by index before the database counts them itself', async () => {
      const { index } = await fresh();
      const entries = Array.from({ length: 12 }, (_, n) =>
        entry(
          header(`item ${n}`, {
            tags: rawTags([...Array(100).keys()].map((at) => [`Name ${n}`, String(at)])),
          }),
        ),
      );
      await index.writer.prepare(entries);
      const row = await index.sql.get<{ counted: number }>(
        'SELECT reltuples::bigint AS counted FROM pg_class WHERE oid = (SELECT tableoid FROM terms LIMIT 1)',
      );
      assert.ok((row?.counted ?? 0) >= 1_000, `${row?.counted} were counted`);
    });
  }
});
