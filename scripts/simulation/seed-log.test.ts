import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { SeedLog } from './seed-log.ts';

const settings = { from: 7, hours: 12, only: undefined, faults: undefined };

describe('the log of seeds', () => {
  let folder = '';
  let file = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-seeds-'));
    file = join(folder, 'seeds.jsonl');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('goes on where it was cut off, and leaves out a line that was cut off too', () => {
    const first = new SeedLog(file);
    assert.equal(first.begin(settings, 'aaa'), 7);
    first.add({ seed: 7, hours: 8_766, events: 1_000, cpuSeconds: 1 });
    first.add({ seed: 8, hours: 8_766, events: 2_000, cpuSeconds: 4, broken: 'an item is lost' });
    appendFileSync(file, '{"seed":9,"hou');
    const second = new SeedLog(file);
    assert.equal(second.begin({ ...settings, from: undefined }, 'bbb'), 7);
    assert.deepEqual([...second.runs.keys()], [7, 8]);
    assert.deepEqual(
      second.broken.map(({ seed, broken }) => [seed, broken]),
      [[8, 'an item is lost']],
    );
    assert.deepEqual(
      new SeedLog(file).begun.map(({ code }) => code),
      ['aaa', 'bbb'],
    );
  });

  it('sums up', () => {
    const log = new SeedLog(undefined);
    log.begin(settings, '');
    log.add({ seed: 7, hours: 8_766, events: 1_000, cpuSeconds: 1 });
    log.add({ seed: 8, hours: 8_766, events: 2_000, cpuSeconds: 4, broken: 'an item is lost' });
    assert.equal(
      log.summary(),
      '2 seeds, 2.00 simulated years, 3 thousand events, 5 CPU s (median 4.0, most 4.0), 1 broken',
    );
  });

  it('refuses a file of other settings, and changes nothing in it', () => {
    new SeedLog(file).begin(settings, 'aaa');
    assert.throws(() => new SeedLog(file).begin({ ...settings, hours: 24 }, 'aaa'), /begun with --hours 12/);
    assert.throws(() => new SeedLog(file).begin({ ...settings, from: 1 }, 'aaa'), /begun with --from 7/);
    assert.throws(
      () => new SeedLog(file).begin({ ...settings, only: 'names' }, 'aaa'),
      /begun with --only left out/,
    );
    assert.equal(new SeedLog(file).begun.length, 1);
  });
});
