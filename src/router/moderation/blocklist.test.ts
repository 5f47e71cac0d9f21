/** One blocklist in several processes, each with a file of its own or with one together. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { type Actor, AuditLog } from '../../kernel/audit-log.ts';
import { silentLog } from '../../kernel/testing.ts';
import { DatabaseUnavailable, type Sql } from '../../storage/sql/sql.ts';
import { forEachEngine, losing } from '../../storage/sql/testing.ts';
import { blocklistMigrations } from './block-store.ts';
import { Blocklist } from './blocklist.ts';

const operator: Actor = { who: 'key 1', via: 'api' };
const id = (letter: string): string => `${letter.repeat(42)}A`;
const entry = (letter: string) => ({
  type: 'txid' as const,
  value: id(letter),
  reason: 'test',
  blockedAt: new Date().toISOString(),
  blockedBy: 'api',
});
const byHand = (...letters: string[]): string =>
  JSON.stringify({ version: 1, entries: letters.map((letter) => ({ type: 'txid', value: id(letter) })) });

describe('a blocklist of several routers', () => {
  const folders: string[] = [];
  const started: Blocklist[] = [];
  afterEach(async () => {
    for (const list of started.splice(0)) await stop(list);
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-blocklist-'));
    folders.push(folder);
    return folder;
  };
  const pathIn = (folder: string): string => join(folder, 'blocklist.json');
  const shown = (folder: string): string[] => {
    const { entries } = JSON.parse(readFileSync(pathIn(folder), 'utf8'));
    return entries.map(({ value }: { value: string }) => value[0]);
  };
  const blocked = (list: Blocklist): string[] => [...list.ids].map((value) => value[0] ?? '').sort();
  async function start(sql: Sql, folder: string): Promise<Blocklist> {
    const path = pathIn(folder);
    const audit = new AuditLog(`${path}.audit.jsonl`, 'router', silentLog);
    const list = new Blocklist({ path, folder, sql, audit, log: silentLog });
    await list.start();
    for (const job of list.jobs) job.start();
    started.push(list);
    return list;
  }
  async function stop(list: Blocklist): Promise<void> {
    for (const job of list.jobs) await job.stop();
    await list.stop();
  }

  forEachEngine((_engine, open) => {
    it('holds at all of them, and the file of each shows it', async () => {
      const sql = await open(blocklistMigrations);
      const [here, there] = [newFolder(), newFolder()];
      const [one, two] = [await start(sql, here), await start(sql, there)];
      const purged: string[] = [];
      two.onOthers = (ids) => void purged.push(...ids);
      assert.equal(await one.block(entry('a'), operator), true);
      assert.equal(await one.block(entry('a'), operator), false);
      await eventually('the other obeys', () => two.blocksId(id('a')) && shown(there).length === 1);
      assert.deepEqual([shown(here), shown(there), purged], [['a'], ['a'], [id('a')]]);
      await Promise.all(
        ['b', 'c', 'd', 'e'].map((letter, at) => [one, two][at % 2]?.block(entry(letter), operator)),
      );
      await eventually('both have all', () => blocked(one).length === 5 && blocked(two).length === 5);
      await two.unblock('txid', id('a'), operator);
      await eventually('it is lifted at both', () => !one.blocksId(id('a')) && !shown(here).includes('a'));
      await one.place(id('b'), { root: id('r'), start: 1, end: 9 });
      await eventually('both know where it lies', () => two.find('txid', id('b'))?.place?.end === 9);
    });

    it('takes over what an earlier release left in a file, once', async () => {
      const sql = await open(blocklistMigrations);
      const folder = newFolder();
      writeFileSync(pathIn(folder), byHand('x', 'y'));
      const first = await start(sql, folder);
      assert.deepEqual(blocked(first), ['x', 'y']);
      await first.unblock('txid', id('x'), operator);
      assert.deepEqual(shown(folder), ['y']);
      // Another folder with what was there before brings it again: to block too much is the safe side.
      const other = newFolder();
      writeFileSync(pathIn(other), byHand('x', 'z'));
      assert.deepEqual(blocked(await start(sql, other)), ['x', 'y', 'z']);
    });

    it('lifts what was taken out of a file by hand, unless others have changed the list since', async () => {
      const sql = await open(blocklistMigrations);
      const [here, there] = [newFolder(), newFolder()];
      const one = await start(sql, here);
      for (const letter of ['a', 'b']) await one.block(entry(letter), operator);
      writeFileSync(pathIn(here), byHand('b', 'c'));
      await one.reload(operator);
      assert.deepEqual(blocked(one), ['b', 'c']);
      await stop(one);
      started.splice(0);
      // While it was away somebody else blocked more, and its file was edited.
      const two = await start(sql, there);
      await two.block(entry('d'), operator);
      writeFileSync(pathIn(here), byHand('c', 'e'));
      const again = await start(sql, here);
      assert.deepEqual(blocked(again), ['b', 'c', 'd', 'e'], 'it only adds');
      await eventually('the other has it too', () => two.blocksId(id('e')));
      await eventually('and the file shows all', () => shown(here).length === 4);
    });

    it('does not take its own file for one of another hand, because a clock was ahead for a while', async () => {
      const sql = await open(blocklistMigrations);
      const [here, there] = [newFolder(), newFolder()];
      const [one, two] = [await start(sql, here), await start(sql, there)];
      await one.block(entry('a'), operator);
      await eventually('the other shows it', () => shown(there).includes('a'));
      // What was noted so far was noted by a clock that has been set back since.
      await sql.run('UPDATE blocklist_files SET noted_at = noted_at + 43200000');
      await one.block(entry('b'), operator);
      await eventually('the other shows both', () => shown(there).includes('b'));
      // Minutes pass: writers do not pass each other any more.
      await sql.run('UPDATE blocklist_files SET noted_at = noted_at - 120000');
      await one.unblock('txid', id('b'), operator);
      await eventually('it is lifted at both', () => !two.blocksId(id('b')) && !shown(there).includes('b'));
      await two.block(entry('c'), operator);
      assert.deepEqual(blocked(two), ['a', 'c'], 'what was lifted stays so');
    });

    it('is one with one file too, whoever writes it', async () => {
      const sql = await open(blocklistMigrations);
      const folder = newFolder();
      const [one, two] = [await start(sql, folder), await start(sql, folder)];
      const letters = [...'abcdefghijkl'];
      await Promise.all(
        letters.map((letter, at) => (at % 2 === 0 ? one : two).block(entry(letter), operator)),
      );
      await eventually('the file shows all', () => shown(folder).length === letters.length);
      await eventually(
        'both have all',
        () => blocked(one).length + blocked(two).length === 2 * letters.length,
      );
      writeFileSync(pathIn(folder), byHand('a'));
      await eventually(
        'a hand is obeyed by both',
        () => blocked(one).length === 1 && blocked(two).length === 1,
      );
      assert.deepEqual([one.problems(), two.problems()], [[], []]);
    });

    it('follows a file that was changed while the database was away, when that is back', async () => {
      let isAway = false;
      const sql = losing(await open(blocklistMigrations), () => isAway);
      const folder = newFolder();
      const list = await start(sql, folder);
      isAway = true;
      writeFileSync(pathIn(folder), byHand('a'));
      await assert.rejects(list.reload(operator), DatabaseUnavailable);
      await eventually('the watch has told it, too', () => list.failedReloads >= 2);
      assert.notDeepEqual(list.problems(), []);
      isAway = false;
      await eventually('it is obeyed', () => list.blocksId(id('a')) && list.problems().length === 0);
    });

    it('writes over no file that it could not follow, and shows what it could not write', async () => {
      let isLost = (_statement: string): boolean => false;
      const sql = losing(await open(blocklistMigrations), (statement) => isLost(statement));
      const [here, there] = [newFolder(), newFolder()];
      const [one, two] = [await start(sql, here), await start(sql, there)];
      let left = 1;
      isLost = (statement) => statement.includes('blocklist_files') && left-- > 0;
      writeFileSync(pathIn(here), byHand('x'));
      await assert.rejects(one.block(entry('a'), operator), DatabaseUnavailable);
      assert.deepEqual(shown(here), ['x']);
      await one.block(entry('a'), operator);
      assert.deepEqual(blocked(one), ['a', 'x']);
      await eventually('the other shows it', () => shown(there).length === 2);
      isLost = (statement) => statement.includes('blocklist_files') && two.blocksId(id('b'));
      await one.block(entry('b'), operator).catch(() => {});
      await eventually('the other obeys, and cannot write', () => two.blocksId(id('b')));
      isLost = () => false;
      await eventually('all show it', () => shown(here).length === 3 && shown(there).length === 3);
    });
  });
});
