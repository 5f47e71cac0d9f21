import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLog } from '../kernel/testing.ts';
import { forEachEngine } from '../storage/sql/testing.ts';
import { type NameChange, NameChanges, nameChangesTable } from './name-changes.ts';

const migrations = [{ id: 'name-changes', up: nameChangesTable }];

forEachEngine((_engine, open) => {
  it('tells every process that shares the database, once', async () => {
    const sql = await open(migrations);
    let now = Date.now();
    const process = () => {
      const heard: NameChange[] = [];
      const names = { forget: (change: NameChange) => void heard.push(change) };
      const changes = new NameChanges({ sql, log: silentLog, names, isShared: true, now: () => now });
      return { changes, heard };
    };
    const [one, two] = [process(), process()];
    const told = [{ name: 'mine', undername: 'docs' }, { name: 'other' }];
    await one.changes.tell(told);
    assert.deepEqual(one.heard, told);
    assert.deepEqual(two.heard, []);
    await two.changes.hear();
    await two.changes.hear();
    const names = two.heard.map(({ name, undername }) => [name, undername]).sort();
    assert.deepEqual(names, [
      ['mine', 'docs'],
      ['other', undefined],
    ]);
    now += 200_000;
    await one.changes.tell([{ name: 'later' }]);
    const left = await sql.all('SELECT name FROM name_changes');
    assert.deepEqual(left, [{ name: 'later' }], 'old ones are removed');
  });

  it('writes nothing where there is no other process', async () => {
    const sql = await open(migrations);
    const changes = new NameChanges({ sql, log: silentLog, names: { forget() {} }, isShared: false });
    await changes.tell([{ name: 'mine' }]);
    assert.deepEqual([await sql.all('SELECT name FROM name_changes'), changes.jobs], [[], []]);
  });
});
