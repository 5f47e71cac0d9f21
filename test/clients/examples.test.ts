/** The example projects pass from the packed tarball, on the Node that the program needs and on an older one. */
import { join, resolve } from 'node:path';
import { before, test } from 'node:test';
import { exampleNames, installExamples, olderNode, runExample } from '../support/examples.ts';
import { packTurnpike } from '../support/pack.ts';

const folder = resolve(import.meta.dirname, '../../.cache/examples');
const older = olderNode();

before(() => installExamples(packTurnpike(join(folder, 'packed')), folder));

for (const name of exampleNames) {
  test(`${name} passes`, () => runExample(folder, name, process.execPath));
  test(
    `${name} passes on an older Node`,
    {
      skip: older === undefined ? 'SKIPPED: no Node below 24 is installed' : false,
    },
    () => runExample(folder, name, older ?? ''),
  );
}
