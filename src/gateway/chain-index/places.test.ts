/** Items whose records were pruned: what is still known of them, and that nothing is lost on the way. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { openDatabase } from '../../storage/sql/open.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { insertBlock } from './blocks.ts';
import { type Cursor, fromTheBeginning, pruneStableItems, type StableRange } from './drop.ts';
import { migrations } from './migrations.ts';
import { DATA_ITEM } from './order.ts';
import { findPlaces, isPackingDue, packedPlaces, packNext } from './places.ts';
import type { Entry } from './records.ts';
import { SqlGatewayIndex } from './sql-index.ts';
import { bundledItem, digest, entry, header, rawTags } from './testing.ts';

const everything: StableRange = { indexedBefore: 2_000, minHeight: 0, maxHeight: 100 };
const id = (name: string) => digest(name).toString('base64url');

async function prune(sql: Sql, range = everything): Promise<number> {
  let pruned = 0;
  for (let after: Cursor | undefined = fromTheBeginning; after !== undefined; ) {
    const batch: Awaited<ReturnType<typeof pruneStableItems>> = await pruneStableItems(sql, range, after, 1);
    pruned += batch.pruned;
    after = batch.next;
  }
  return pruned;
}

async function pack(sql: Sql): Promise<void> {
  while ((await packNext(sql)) > 0);
}

forEachEngine((engine, open) => {
  async function fresh() {
    const index = new SqlGatewayIndex(await open(migrations), () => 1_000);
    const put = async (...entries: Entry[]) => {
      const prepared = await index.writer.prepare(entries);
      return index.sql.transaction((tx) => index.writer.put(tx, prepared));
    };
    const putRoot = async (name: string, height = 5) => {
      const root = header(name, { dataSize: 1_000_000, dataRoot: digest(`data of ${name}`) });
      const [written] = await put(entry(root, { height, blockIndex: 0 }));
      return written?.record ?? 0;
    };
    const bundle = (name: string) =>
      index.sql.run(
        `INSERT INTO bundles (id, root, depth, format, state, priority, bypass, next_try_at, import_attempt_count,
           retry_attempt_count) VALUES (?, ?, 1, 1, 'unbundled', 1, 0, 0, 1, 0)`,
        digest(name),
        digest('root'),
      );
    const records = async () => (await index.sql.get<{ n: number }>('SELECT count(*) AS n FROM records'))?.n;
    const counted = async () =>
      (await index.sql.get<{ n: number }>('SELECT CAST(sum(items) AS BIGINT) AS n FROM place_counts'))?.n;
    return { index, put, putRoot, bundle, records, counted };
  }

  it('are found as before: place, size, type, block; not what only their header said', async () => {
    const { index, put, putRoot, bundle, records } = await fresh();
    await index.sql.transaction((tx) =>
      insertBlock(tx, {
        height: 5,
        id: Buffer.alloc(48, 5),
        previous: Buffer.alloc(48, 4),
        timestamp: 5,
        txCount: 1,
        blockSize: '0',
        weaveSize: '0',
        json: Buffer.from('{}'),
      }),
    );
    await index.sql.run("INSERT INTO chain_state (name, value) VALUES ('stable_height', 50)");
    await index.refresh();
    const root = await putRoot('root');
    await bundle('root');
    await bundle('nested');
    const [nested] = await put(bundledItem('nested', root, { dataSize: 50_000 }, { at: 3 }));
    const parent = nested?.record ?? 0;
    const parentOffset = 96 + 3 * 1_100 + 1_044;
    await put(
      bundledItem('typed', root, {
        tags: rawTags({ 'Content-Type': 'text/html', 'Content-Encoding': 'gzip' }),
      }),
      bundledItem('plain', root, {}, { at: 1 }),
      bundledItem('empty', root, { dataSize: 0, tags: rawTags({ 'content-type': '' }) }, { at: 2 }),
      bundledItem(
        'inner',
        root,
        { tags: rawTags({ 'Content-Type': 'text/html' }) },
        { parent, parentOffset },
      ),
    );
    const names = ['typed', 'plain', 'empty', 'inner'];
    const before = await Promise.all(names.map((name) => index.locate(id(name))));
    const status = await index.statusInBlock(id('inner'));
    assert.equal(status?.height, 5);
    assert.equal(await prune(index.sql), 4);
    // The root, and the bundle in it, which the places of its items refer to.
    assert.equal(await records(), 2);

    for (const isPacked of [false, true]) {
      if (isPacked) await pack(index.sql);
      for (const [at, name] of names.entries()) {
        const was = before[at];
        assert.ok(was?.placement);
        assert.deepEqual(await index.locate(id(name)), {
          ...was,
          isPruned: true,
          ownerAddress: '',
          signatureType: 0,
          tags: [],
          hash: undefined,
          verified: false,
        });
      }
      assert.deepEqual(await index.statusInBlock(id('inner')), status);
      assert.equal(await index.proof(id('typed')), undefined);
      assert.equal(await index.noteVerified(id('typed'), id('x'), true), false);
      assert.equal(await index.locate(id('never')), undefined);
    }
    const bundles = await index.sql.all<{ id: Buffer; n: number; at: number }>(
      'SELECT id, pruned_count AS n, last_pruned_at AS "at" FROM bundles',
    );
    assert.deepEqual(
      new Map(bundles.map((row) => [row.id.toString('base64url'), [row.n, row.at]])),
      new Map([
        [id('root'), [3, 1]],
        [id('nested'), [1, 1]],
      ]),
    );
  });

  it('stay where their bundle is when even that is moved', async () => {
    const { index, put, putRoot } = await fresh();
    const root = await putRoot('root');
    await put(bundledItem('item', root));
    await prune(index.sql);
    while (await index.writer.unmine(index.sql, 4));
    assert.equal((await index.locate(id('item')))?.height, undefined);
    await putRoot('root', 6);
    assert.equal((await index.locate(id('item')))?.height, 6);
    assert.equal((await index.locate(id('item')))?.placement?.dataOffsetInRoot, 1_140);
  });

  it('are told by their record where it is indexed again, and not by an announcement', async () => {
    const { index, put, putRoot, counted } = await fresh();
    const root = await putRoot('root');
    await put(bundledItem('item', root, { tags: rawTags({ a: 'b' }) }));
    const before = await index.locate(id('item'));
    for (const _round of [1, 2, 3]) {
      assert.equal(await prune(index.sql), 1);
      await pack(index.sql);
      await put(entry(header('item', { kind: DATA_ITEM, dataSize: 3 })));
      const announced = await index.locate(id('item'));
      assert.deepEqual([announced?.size, announced?.placement], [7, before?.placement]);
      await put(bundledItem('item', root, { tags: rawTags({ a: 'b' }) }));
      assert.deepEqual(await index.locate(id('item')), before);
      assert.deepEqual([(await findPlaces(index.sql, digest('item'))).length, await counted()], [1, 1]);
    }
  });

  it('are kept of every bundle that an item lies in', async () => {
    const { index, put, putRoot, counted } = await fresh();
    for (const name of ['first', 'second']) {
      const root = await putRoot(name);
      await put(bundledItem('item', root));
      await prune(index.sql);
      if (name === 'first') await pack(index.sql);
    }
    const roots = (await index.locatePruned(id('item'))).map(({ placement }) => placement?.root);
    assert.deepEqual(roots.sort(), [id('first'), id('second')].sort());
    assert.equal(await counted(), 2);
  });

  it('are only of items that a prune may remove', async () => {
    const { index, put, putRoot, records } = await fresh();
    const root = await putRoot('root');
    await put(bundledItem('item', root), entry(header('announced', { kind: DATA_ITEM })));
    const orphan = bundledItem('orphan', root, {}, { parent: 999_999, parentOffset: 4_440 });
    await put(orphan);
    for (const range of [
      { ...everything, indexedBefore: 1_000 },
      { ...everything, maxHeight: 4 },
      { ...everything, minHeight: 6 },
    ])
      assert.equal(await prune(index.sql, range), 0);
    assert.equal(await records(), 4);
    assert.equal(await prune(index.sql), 1);
    // Without the record of its bundle it could not be found again: an earlier version removed that.
    const located = await index.locate(id('orphan'));
    assert.deepEqual([located?.placement?.root, located?.placement?.parent], [id('root'), '']);
    await put(bundledItem('nested', root, { dataSize: 50_000 }, { at: 3 }));
    assert.equal((await index.locate(id('orphan')))?.placement?.parent, id('nested'));
  });

  it('lose nothing wherever a prune or the packing is cut off', async () => {
    const { index, put, putRoot, counted } = await fresh();
    const root = await putRoot('root');
    const names = Array.from({ length: 300 }, (_, at) => `item ${at}`);
    const entries = names.map((name, at) => bundledItem(name, root, {}, { at }));
    for (let at = 0; at < entries.length; at += 100) await put(...entries.slice(at, at + 100));
    /** Fails at the statement after so many, as a crash would end the transaction. */
    const cutAfter = (allowed: number): Sql => {
      let left = allowed;
      const counting = (tx: SqlExecutor): SqlExecutor => {
        const one = <T>(result: () => Promise<T>): Promise<T> => {
          left -= 1;
          return left < 0 ? Promise.reject(new Error('cut off')) : result();
        };
        return {
          engine: tx.engine,
          forUpdate: tx.forUpdate,
          all: (text, ...values) => one(() => tx.all(text, ...values)),
          get: (text, ...values) => one(() => tx.get(text, ...values)),
          run: (text, ...values) => one(() => tx.run(text, ...values)),
        };
      };
      const { sql } = index;
      return {
        ...counting(sql),
        transaction: (work) => sql.transaction((tx) => work(counting(tx))),
        stream: (text, ...values) => sql.stream(text, ...values),
        visible: () => sql.visible(),
        close: () => sql.close(),
      };
    };
    let ended = false;
    for (let allowed = 0; !ended; allowed += 3) {
      try {
        await prune(cutAfter(allowed));
        await pack(cutAfter(allowed));
        ended = true;
      } catch (error) {
        assert.match(String(error), /cut off/);
      }
      for (const name of ['item 0', 'item 150', 'item 299'])
        assert.ok((await index.locate(id(name)))?.placement, `${name} after ${allowed} statements`);
    }
    for (const name of names) assert.equal((await index.locate(id(name)))?.isPruned, true);
    assert.equal(await counted(), 300);
  });

  it('take at most 60 bytes each, whatever their number', async () => {
    const { index } = await fresh();
    const { sql } = index;
    const total = 20_000;
    const used = async (): Promise<number> => {
      if (engine === 'postgres') {
        for (const table of ['places', 'fresh_places']) await sql.run(`VACUUM FULL ${table}`);
        const row = await sql.get<{ n: number }>(
          `SELECT CAST(sum(pg_total_relation_size(oid)) AS BIGINT) AS n FROM pg_class
           WHERE oid IN (SELECT tableoid FROM places UNION SELECT tableoid FROM fresh_places
             UNION SELECT tableoid FROM place_counts)`,
        );
        return row?.n ?? 0;
      }
      const pages = await sql.get<{ page_count: number }>('PRAGMA page_count');
      const free = await sql.get<{ freelist_count: number }>('PRAGMA freelist_count');
      const size = await sql.get<{ page_size: number }>('PRAGMA page_size');
      return ((pages?.page_count ?? 0) - (free?.freelist_count ?? 0)) * (size?.page_size ?? 0);
    };
    const empty = await used();
    // Written as a prune leaves them, without the records before.
    for (let at = 0; at < total; at += 500) {
      const rows = Array.from({ length: 500 }, (_, one) => at + one);
      await sql.transaction((tx) =>
        tx.run(
          `INSERT INTO fresh_places (id, parent, item_offset, header_size, data_size, type)
           VALUES ${rows.map(() => '(?, ?, ?, ?, ?, ?)').join(', ')}`,
          ...rows.flatMap((n) => [
            digest(`item ${n}`),
            200_000_000 + Math.floor(n / 100),
            n * 5_000,
            1_100,
            100_000,
            3,
          ]),
        ),
      );
      if (at % 5_000 === 0 && (await isPackingDue(sql))) await pack(sql);
    }
    await pack(sql);
    assert.equal(await isPackingDue(sql), false);
    // PostgreSQL gives back no room of rows that a transaction of others may still see.
    await eventually('60 bytes an item at most', async () => ((await used()) - empty) / total <= 60, 30_000);
    let found = 0;
    let last: Buffer = Buffer.alloc(0);
    for await (const places of packedPlaces(sql))
      for (const place of places) {
        assert.ok(Buffer.compare(last, place.id) < 0);
        last = place.id;
        found += 1;
      }
    assert.equal(found, total);
    assert.equal((await findPlaces(sql, digest('item 12345')))[0]?.itemOffset, 12_345 * 5_000);
  });
});

test('a process that is killed in the midst of a prune or of the packing loses nothing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-prune-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const options = { databaseUrl: undefined, dataDir: folder, name: 'gateway', migrations };
  const items = 1_500;
  const sql = await openDatabase(options);
  const index = new SqlGatewayIndex(sql, () => 1_000);
  const put = async (entries: readonly Entry[]) => {
    const prepared = await index.writer.prepare(entries);
    return sql.transaction((tx) => index.writer.put(tx, prepared));
  };
  const [root] = await put([entry(header('root'), { height: 5, blockIndex: 0 })]);
  for (let at = 0; at < items; at += 100)
    await put(
      Array.from({ length: 100 }, (_, n) =>
        bundledItem(`item ${at + n}`, root?.record ?? 0, {}, { at: at + n }),
      ),
    );
  await sql.close();

  // Three batches of the prune, then all of it and some of the packing, then the rest.
  for (const lines of [3, 12, undefined]) {
    await pruneUntilKilled(folder, lines);
    const again = await openDatabase(options);
    const found = new SqlGatewayIndex(again);
    for (let at = 0; at < items; at += 1) {
      const placement = (await found.locate(id(`item ${at}`)))?.placement;
      assert.equal(placement?.itemOffset, 96 + at * 1_100, `item ${at}`);
    }
    const left = await again.get<{ n: number }>('SELECT count(*) AS n FROM records WHERE kind = 1');
    const fresh = await again.get<{ n: number }>('SELECT count(*) AS n FROM fresh_places');
    await again.close();
    if (lines === undefined) assert.deepEqual([left?.n, fresh?.n], [0, 0]);
  }
});

/** A process of its own that prunes and packs, killed after so many steps; without a number it ends by itself. */
function pruneUntilKilled(folder: string, lines: number | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = join(import.meta.dirname, '../../../test/support/prune-process.ts');
    const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    let seen = 0;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      seen += text.split('\n').length - 1;
      if (lines !== undefined && seen >= lines) child.kill('SIGKILL');
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0 || signal === 'SIGKILL') resolve();
      else reject(new Error(`the prune ended with ${code}`));
    });
  });
}
