import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { mends } from './mends/list.ts';
import { undone } from './mends.ts';

const root = resolve(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

describe('the undo of a mend', () => {
  for (const mend of mends) {
    it(`finds its text exactly once: ${mend.what}`, () => {
      for (const [file, text] of undone(mend, read)) assert.notEqual(text, read(file));
    });

    it(`names a test that there is: ${mend.what}`, () => {
      if ('unit' in mend.fails) assert.ok(existsSync(join(root, mend.fails.unit)), mend.fails.unit);
      else if ('simulation' in mend.fails) assert.ok(mend.fails.simulation.minutes < 10);
      else assert.ok(mend.fails.strangers.requests > 0);
    });
  }

  it('is refused where its text is not there, or twice', () => {
    const mend = (find: string) => ({
      what: 'x',
      undo: [{ file: 'a', find, put: '' }],
      fails: { unit: 'a' },
    });
    const text = () => 'one two two';
    assert.throws(() => undone(mend('three'), text), /occurs 0 times in a/);
    assert.throws(() => undone(mend('two'), text), /occurs 2 times in a/);
    assert.equal(undone(mend('one '), text).get('a'), 'two two');
  });

  it('has a name of its own', () => {
    assert.equal(new Set(mends.map(({ what }) => what)).size, mends.length);
  });
});
