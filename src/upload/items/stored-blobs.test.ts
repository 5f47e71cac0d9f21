import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../kernel/testing.ts';
import type { Steps } from '../../storage/pace.ts';
import type { Scrubbable } from '../../storage/scrub.ts';
import { DamagedBlobs } from './stored-blobs.ts';

const steps: Steps = (step) => step();

test('blobs are damaged until they are sound again or gone, and said so once', async () => {
  const blobs = new Map([
    ['a', true],
    ['b', false],
    ['c', false],
  ]);
  const files: Scrubbable = {
    async *namesAfter(after) {
      for (const name of blobs.keys()) if (name > after) yield name;
    },
    inspect: async (name) => ({ size: 1, isSound: blobs.get(name) === true }),
  };
  const lines: unknown[] = [];
  const log = silentLog.child({});
  log.error = (fields: unknown) => void lines.push(fields);
  const damaged = new DamagedBlobs(log);
  const noted = damaged.noted(files);
  const pass = async () => {
    for await (const name of noted.namesAfter('', steps)) await noted.inspect(name, steps);
  };
  await pass();
  assert.deepEqual(damaged.problems(), ['2 stored blobs are damaged.']);
  await pass();
  assert.deepEqual(lines, [{ digest: 'b' }, { digest: 'c' }]);
  blobs.set('b', true);
  blobs.delete('c');
  await pass();
  await pass();
  assert.deepEqual(damaged.problems(), []);
});
