/** What the log of events says, beside what the index has: random histories, on both engines, many things at once. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { EventLog } from '../../events/event-log.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { deleteBlocksAbove, insertBlock } from './blocks.ts';
import { unpackChanges } from './event-batch.ts';
import { tellFinal } from './finality.ts';
import { migrations } from './migrations.ts';
import { DATA_ITEM } from './order.ts';
import type { Entry, Mined } from './records.ts';
import { SqlGatewayIndex } from './sql-index.ts';
import { digest, entry, header } from './testing.ts';
import { minedOf, type PlaceRow, placeColumns } from './writer.ts';

/** Blocks so deep are final in these histories. */
const depth = 3;

interface Told {
  readonly state: string;
  readonly height: number | undefined;
  readonly blockId: string | undefined;
}

forEachEngine((engine, open) => {
  async function fresh() {
    const sql = await open(migrations);
    const index = new SqlGatewayIndex(sql);
    const { writer } = index;
    const log = new EventLog(sql);
    let branch = 0;
    const chain: Buffer[] = [];
    const idOf = (height: number) => chain[height] ?? Buffer.alloc(48);

    async function put(entries: readonly Entry[], tellsNew?: boolean): Promise<void> {
      const prepared = await writer.prepare(entries);
      await sql.transaction((tx) => writer.put(tx, prepared, { ...(tellsNew === false && { tellsNew }) }));
    }
    async function mine(names: readonly string[]): Promise<void> {
      const height = chain.length;
      chain.push(Buffer.concat([digest(`block ${height} of branch ${branch}`), Buffer.alloc(16)]));
      const mined = (blockIndex: number): Mined => ({ height, blockIndex, blockId: idOf(height) });
      const prepared = await writer.prepare(names.map((name, at) => entry(header(name), mined(at))));
      await sql.transaction(async (tx) => {
        const events = writer.newEvents();
        await writer.put(tx, prepared, { events });
        await insertBlock(
          tx,
          {
            height,
            id: idOf(height),
            previous: idOf(height - 1),
            timestamp: height,
            txCount: names.length,
            blockSize: '0',
            weaveSize: '0',
            json: Buffer.from('{}'),
          },
          events,
        );
        await events.append(tx);
        await tx.run(
          `INSERT INTO chain_state (name, value) VALUES ('stable_height', ?)
           ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE chain_state.value < excluded.value`,
          height - depth,
        );
      });
      while (await writer.reposition(sql));
    }
    async function fork(blocks: number): Promise<void> {
      branch += 1;
      const height = chain.length - 1 - Math.min(blocks, chain.length);
      await sql.transaction(async (tx) => {
        const events = writer.newEvents();
        await deleteBlocksAbove(tx, height, events);
        await events.append(tx);
      });
      chain.length = height + 1;
      while (await writer.unmine(sql, height));
    }
    /** Items of a transaction, as the unbundler writes them; `hold` is waited for before they are committed. */
    async function unbundle(
      rootName: string,
      names: readonly string[],
      hold = async () => {},
    ): Promise<void> {
      const root = await index.recordOf(digest(rootName).toString('base64url'));
      if (root === undefined) return;
      const placed = { root, parent: root, parentOffset: 0, itemOffset: 0, dataOffset: 0, itemSize: 0 };
      const prepared = await writer.prepare(
        names.map((name) =>
          entry(header(name, { kind: DATA_ITEM }), undefined, { placed, bundle: digest(rootName) }),
        ),
      );
      await sql.transaction(async (tx) => {
        const row = await tx.get<PlaceRow>(
          `SELECT ${placeColumns('records')} FROM records WHERE record = ? ${tx.forUpdate}`,
          root,
        );
        const mined = row && minedOf(row);
        await writer.put(
          tx,
          prepared.map((one) => ({ ...one, entry: { ...one.entry, mined } })),
        );
        await hold();
      });
    }
    async function finish(): Promise<void> {
      while (await tellFinal(sql, writer));
    }
    /** Everything that was told, by record and by block, in order. */
    async function told() {
      await log.number();
      const records = new Map<number, Told[]>();
      const blocks = new Map<string, string[]>();
      for (let after = 0; ; ) {
        const rows = await log.read(after);
        for (const change of rows.flatMap(unpackChanges)) {
          if ('block' in change) {
            const id = change.block.id.toString('hex');
            blocks.set(id, [...(blocks.get(id) ?? []), change.state]);
            continue;
          }
          const { state, height, blockId } = change;
          for (const record of change.records) {
            const one = { state, height, blockId: blockId?.toString('hex') };
            records.set(record, [...(records.get(record) ?? []), one]);
          }
        }
        const last = rows.at(-1);
        if (last === undefined) return { records, blocks };
        after = last.seq;
      }
    }
    return { index, sql, put, mine, fork, unbundle, finish, told, chain };
  }

  /** Each change follows from the one before, and the last one is where the index has the record. */
  async function check({ sql, told, chain, finish }: Awaited<ReturnType<typeof fresh>>): Promise<void> {
    await finish();
    const { records, blocks } = await told();
    const rows = await sql.all<{ record: number; height: number | null }>(
      'SELECT record, height FROM records',
    );
    const stable = chain.length - 1 - depth;
    for (const { record, height } of rows) {
      const states = records.get(record) ?? [];
      const text = `${record}: ${states.map((one) => `${one.state} ${one.height ?? ''}`).join(', ')}`;
      states.forEach(({ state, height: at }, position) => {
        const before = states[position - 1];
        if (state === 'new') assert.equal(before, undefined, text);
        if (state === 'mined') assert.ok(before === undefined || /new|reverted/.test(before.state), text);
        if (state === 'reverted') assert.ok(/mined|final/.test(before?.state ?? ''), text);
        if (state === 'final') assert.equal(before?.state, 'mined', text);
        if (state === 'final' || state === 'reverted') assert.equal(before?.height, at, text);
      });
      const last = states.at(-1);
      if (height === null) assert.match(last?.state ?? 'new', /new|reverted/, text);
      else {
        assert.equal(last?.height, height, text);
        if (last?.state === 'mined') assert.ok(height > stable, text);
        else assert.equal(last?.state, 'final', text);
        // Who waited for the block's own transaction did not see the block.
        if (last.blockId !== undefined) assert.equal(last.blockId, chain[height]?.toString('hex'), text);
      }
    }
    const current = new Set(chain.map((id) => id.toString('hex')));
    for (const [id, states] of blocks) {
      const isIn = current.has(id);
      const text = states.join(', ');
      assert.match(text, isIn ? /^new(, final)?$/ : /^new(, final)?, reverted$/, text);
    }
    chain.forEach((id, height) => {
      const states = blocks.get(id.toString('hex')) ?? [];
      if (height <= stable) assert.deepEqual(states, ['new', 'final']);
    });
  }

  it('a pending transaction is new, then mined, then final, once each', async () => {
    const made = await fresh();
    await made.put([entry(header('a'))]);
    await made.put([entry(header('a'))]);
    await made.mine(['a']);
    for (let block = 0; block < depth + 2; block += 1) await made.mine([]);
    await made.finish();
    await made.finish();
    const { records } = await made.told();
    assert.deepEqual(
      [...records.values()].map((states) => states.map(({ state }) => state)),
      [['new', 'mined', 'final']],
    );
    await check(made);
  });

  it('what is only looked up, or read from a bundle that is in no block, is told when it is in one', async () => {
    const made = await fresh();
    await made.put([entry(header('old'))], false);
    await made.unbundle('old', ['item']);
    assert.equal((await made.told()).records.size, 0);
    await made.mine(['old']);
    assert.deepEqual(
      [...(await made.told()).records.values()].map((states) => states.map(({ state }) => state)),
      [['mined'], ['mined']],
    );
  });

  it('items of a bundle that is read late are final at once', async () => {
    const made = await fresh();
    await made.put([entry(header('announced', { kind: DATA_ITEM }))]);
    await made.mine(['bundle']);
    for (let block = 0; block < depth + 2; block += 1) await made.mine([]);
    await made.finish();
    await made.unbundle('bundle', ['announced', 'late']);
    const { records } = await made.told();
    const of = async (name: string) => {
      const record = await made.index.recordOf(digest(name).toString('base64url'));
      return records.get(record ?? -1)?.map(({ state }) => state);
    };
    assert.deepEqual(await of('announced'), ['new', 'mined', 'final']);
    assert.deepEqual(await of('late'), ['mined', 'final']);
    await check(made);
  });

  it('items that are committed while the cursor passes are final all the same', async (t) => {
    if (engine === 'sqlite') return t.skip('SQLite writes one transaction after the other');
    const made = await fresh();
    await made.mine(['bundle']);
    for (let block = 0; block < depth + 2; block += 1) await made.mine([]);
    const written = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const unbundled = made.unbundle('bundle', ['item'], () => {
      written.resolve();
      return mayCommit.promise;
    });
    await written.promise;
    let isOver = false;
    const finished = made.finish().then(() => {
      isOver = true;
    });
    await eventually('the cursor waits', async () => {
      const waiting = await made.sql.get<{ n: number }>(
        `SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%final_cursor%'
           AND pid <> pg_backend_pid()`,
      );
      return isOver || (waiting?.n ?? 0) > 0;
    });
    mayCommit.resolve();
    await Promise.all([unbundled, finished]);
    await check(made);
  });

  it('an index of an earlier release tells nothing of what was stable before', async () => {
    const before = migrations.filter(({ id }) => !id.endsWith('-final-cursor'));
    const old = await open(before, 'index');
    await old.run("INSERT INTO chain_state (name, value) VALUES ('stable_height', 7)");
    const sql = await open(migrations, 'index');
    const index = new SqlGatewayIndex(sql);
    const heights = [3, 7, 8];
    const prepared = await index.writer.prepare(
      heights.map((height) => entry(header(`at ${height}`), { height, blockIndex: 0 })),
    );
    // Written as the earlier release did: without a word.
    await sql.transaction((tx) => index.writer.put(tx, prepared, { events: index.writer.newEvents() }));
    assert.equal(await tellFinal(sql, index.writer), false);
    await sql.run("UPDATE chain_state SET value = 8 WHERE name = 'stable_height'");
    while (await tellFinal(sql, index.writer));
    const log = new EventLog(sql);
    await log.number();
    assert.deepEqual(
      (await log.read(0)).flatMap(unpackChanges).map((change) => 'records' in change && change.height),
      [8],
    );
  });

  it('whatever happens in whatever order, each record is told what the index shows', async () => {
    for (let seed = 1; seed <= 6; seed += 1) {
      const random = seededRandom(seed);
      const made = await fresh();
      const roots = Array.from({ length: 12 }, (_, at) => `root ${at}`);
      const itemsOf = (root: string) => Array.from({ length: 5 }, (_, at) => `item ${at} of ${root}`);
      const any = () => random.pick(roots);
      const unmined = async () => {
        const rows = await made.sql.all<{ id: Buffer }>('SELECT id FROM records WHERE height IS NOT NULL');
        const mined = new Set(rows.map(({ id }) => id.toString('hex')));
        return roots.filter((root) => !mined.has(digest(root).toString('hex')) && random.below(3) > 0);
      };
      const beside = (): Promise<void>[] => {
        const root = any();
        const [first = '', ...others] = itemsOf(root);
        return [
          () => [made.put([entry(header(root))])],
          () => [made.put([entry(header(first, { kind: DATA_ITEM }))])],
          () => [made.unbundle(root, itemsOf(root)), made.finish()],
          () => [made.unbundle(root, others), made.finish(), made.unbundle(any(), others)],
        ].flatMap((make, at) => (at === random.below(4) ? make() : []));
      };
      for (let step = 0; step < 25; step += 1) {
        const turn = random.below(5);
        if (turn === 0) await Promise.all([made.fork(random.below(depth) + 1), ...beside()]);
        else await Promise.all([made.mine(turn > 2 ? await unmined() : []), ...beside(), ...beside()]);
      }
      await made.mine([]);
      await check(made);
    }
  });
});
