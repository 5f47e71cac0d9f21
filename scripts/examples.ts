/**
 * Runs the projects of `examples/` with the packed tarball: `npm run examples`, `npm run examples -- jest vitest`.
 * `npm run examples -- --lock` writes their lock file anew, after a change of what they depend on.
 */
import { join, resolve } from 'node:path';
import {
  exampleNames,
  installExamples,
  lockExamples,
  olderNode,
  runExample,
} from '../test/support/examples.ts';
import { packTurnpike } from '../test/support/pack.ts';

const folder = resolve(import.meta.dirname, '../.cache/examples');
const words = process.argv.slice(2);
if (words.includes('--lock')) {
  lockExamples(folder);
  process.exit(0);
}
const unknown = words.find((word) => !exampleNames.includes(word));
if (unknown !== undefined) {
  console.error(`there is no example "${unknown}"; there are ${exampleNames.join(', ')}`);
  process.exit(2);
}
installExamples(packTurnpike(join(folder, 'packed')), folder);
for (const node of [process.execPath, olderNode()]) {
  if (node === undefined) continue;
  for (const name of words.length === 0 ? exampleNames : words) {
    const began = performance.now();
    console.log(await runExample(folder, name, node));
    console.log(`== ${name} passed with ${node} in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  }
}
