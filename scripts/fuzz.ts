/**
 * Sends made-up inputs to everything that reads what strangers send: `npm run fuzz -- [target …] --minutes 10 --seed 7`.
 *
 *   --minutes M     for all targets together (10); `--minutes 480` is the run of a night
 *   --seed S        which inputs; told again with each finding
 *   --runs N        so many inputs for each target: the same on every machine
 *   --keep          writes the inputs that are worth it to test/fuzz/corpus, from which the tests run them again
 *   --first         ends with the first finding
 *   --list          only tells which targets there are
 *
 * A finding is one line and a file below test/fuzz/found, which the tests run from then on. Ends with 3 when something
 * was found.
 */
import { relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { foundInputs, keep, keepFound, keptInputs, learn, learnedInputs } from '../test/fuzz/corpus.ts';
import { fuzz } from '../test/fuzz/run.ts';
import { allTargets, type NamedTarget } from '../test/fuzz/targets.ts';
import { foundCode } from './mends/found-code.ts';

const root = resolve(import.meta.dirname, '..');

if (process.argv[1] === import.meta.filename) await main();

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string' },
      runs: { type: 'string' },
      keep: { type: 'boolean', default: false },
      first: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  const targets = chosenTargets(await allTargets(), positionals);
  if (values.list) {
    for (const { name, file } of targets) console.log(`${name}  (targets/${file})`);
    return;
  }
  const minutes = Number(values.minutes);
  const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
  const runs = values.runs === undefined ? undefined : Number(values.runs);
  if (!(minutes > 0) || !Number.isSafeInteger(seed) || (runs !== undefined && !(runs > 0))) {
    console.error('--minutes and --runs are numbers above zero, --seed is a whole number');
    process.exit(2);
  }
  const forMs = (minutes * 60_000) / targets.length;
  console.log(`seed ${seed}, ${targets.length} targets, ${Math.round(forMs / 1_000)} s each`);
  let found = 0;
  for (const { name, file } of targets) {
    const corpus = [...keptInputs(name), ...learnedInputs(name), ...foundInputs(name)];
    const from = performance.now();
    const report = await fuzz({
      file,
      target: name,
      seed,
      forMs,
      ...(runs !== undefined && { mostRuns: runs }),
      ...(values.first && { mostFindings: 1 }),
      corpus,
    });
    const seconds = (performance.now() - from) / 1_000;
    for (const { input, what } of report.findings) {
      found += 1;
      console.log(`FOUND ${name}: ${what} -> ${relative(root, keepFound(name, input))} (seed ${seed})`);
    }
    if (values.first && report.findings.length > 0) break;
    if (report.result === undefined) continue;
    const { runs: made, reached, corpus: kept } = report.result;
    learn(name, kept);
    if (values.keep) keep(name, kept);
    console.log(
      `${name}: ${made} inputs in ${Math.round(seconds)} s, ${reached} branches, ${kept.length} worth keeping`,
    );
  }
  console.log(found === 0 ? 'nothing was found' : `${found} found`);
  process.exit(found === 0 ? 0 : foundCode);
}

/** Those whose name begins with one of the words; all where there is no word. */
function chosenTargets(targets: readonly NamedTarget[], words: readonly string[]): readonly NamedTarget[] {
  for (const word of words) {
    if (targets.some(({ name }) => name.startsWith(word))) continue;
    console.error(`no target begins with "${word}"; --list tells which there are`);
    process.exit(2);
  }
  return words.length === 0
    ? targets
    : targets.filter(({ name }) => words.some((word) => name.startsWith(word)));
}
