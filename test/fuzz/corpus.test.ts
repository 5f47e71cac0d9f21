import assert from 'node:assert/strict';
import { it } from 'node:test';
import { keptTargets } from './corpus.ts';
import { replay } from './replay.ts';
import { allTargets, routesFile } from './targets.ts';

const targets = await allTargets();

// Those of the routes need a whole network: test/long/fuzz-routes.test.ts.
replay(targets.filter(({ file }) => file !== routesFile));

it('inputs are kept for targets that there are, each with a name of its own', () => {
  const names = targets.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(
    keptTargets().filter((name) => !names.includes(name)),
    [],
  );
});
