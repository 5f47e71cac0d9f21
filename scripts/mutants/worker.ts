/**
 * A process that tries mutants. It is told what to run by messages of `mutate.ts`, which ends it when it does not answer
 * in time. A kill counts only when the test that failed passes without the mutant right after: else something that an
 * earlier one left behind, or chance, has failed it, and a fresh process tries again.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { collect, runTests, type Suite, TestFailed } from './collect.ts';

const root = resolve(import.meta.dirname, '../..');

export type Ask =
  | { readonly ask: 'survey'; readonly file: string }
  | { readonly ask: 'try'; readonly mutant: number; readonly tests: readonly ChosenTests[] }
  | {
      readonly ask: 'simulate';
      readonly mutant: number;
      readonly scenario: string;
      readonly seed: number;
      readonly hours: number;
    };

/** Tests of one file; all of them in their order where they stand on each other. */
export interface ChosenTests {
  readonly file: string;
  readonly only?: readonly string[];
}

export type Answer =
  | { readonly answer: 'ready' }
  | { readonly answer: 'survey'; readonly survey: Survey }
  | { readonly answer: 'survived' }
  /** `broken`: what was not as it must be; `reached`: by a run without a mutant. */
  | { readonly answer: 'simulated'; readonly broken?: string; readonly reached: readonly number[] }
  /** `isSpent`: something goes on that no test waits for, so that the process is of no further use. */
  | { readonly answer: 'killed' | 'unsure'; readonly by: string; readonly isSpent: boolean };

export interface Survey {
  readonly file: string;
  readonly tests: readonly {
    readonly name: string;
    readonly ms: number;
    readonly reached: readonly number[];
  }[];
  /** `each`: any test by itself; `whole`: the file in its order; `fresh`: once per process; `failing`: of no use. */
  readonly runs: 'each' | 'whole' | 'fresh' | 'failing';
}

const suites = new Map<string, Promise<Suite>>();
const suiteOf = (file: string): Promise<Suite> => {
  let suite = suites.get(file);
  if (suite === undefined) {
    suite = collect(file, () => import(pathToFileURL(resolve(root, file)).href));
    suites.set(file, suite);
  }
  return suite;
};

/** What fails outside of any test fails the one that runs. */
let failOutside: (error: unknown) => void = () => undefined;
let isSpent = false;
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => {
    isSpent = true;
    failOutside(error);
  });
}

async function runChosen(
  { file, only }: ChosenTests,
  hooks: { began?: (name: string) => void; ended?: (name: string, ms: number) => void } = {},
): Promise<void> {
  const suite = await suiteOf(file);
  const { promise: outside, reject } = Promise.withResolvers<never>();
  outside.catch(() => undefined);
  let name = file;
  failOutside = (cause) => reject(new TestFailed(name, cause));
  const began = (test: string) => {
    name = test;
    hooks.began?.(test);
  };
  const run = runTests(suite, { ...hooks, began, ...(only === undefined ? {} : { only: new Set(only) }) });
  try {
    await Promise.race([run, outside]);
    // What was left to fail after the end of a test fails now.
    await Promise.race([new Promise((done) => setImmediate(done)), outside]);
  } finally {
    failOutside = () => undefined;
  }
}

async function survey(file: string): Promise<Survey> {
  const tests: { name: string; ms: number; reached: number[] }[] = [];
  const state = globalThis.__mutants;
  const passes = async (run: () => Promise<void>): Promise<boolean> => {
    try {
      await run();
      return true;
    } catch (error) {
      if (process.env.MUTANTS_SHOW !== undefined) console.error(file, error);
      return false;
    }
  };
  // By hooks of suites, which run for every test.
  const byHooks = new Set<number>();
  state.reached = byHooks;
  const first = await passes(() =>
    runChosen(
      { file },
      {
        began: () => {
          state.reached = new Set();
        },
        ended: (name, ms) => {
          tests.push({ name, ms, reached: [...(state.reached ?? [])] });
          state.reached = byHooks;
        },
      },
    ),
  );
  state.reached = undefined;
  for (const test of tests) test.reached = [...new Set([...test.reached, ...byHooks])];
  if (!first) return { file, tests, runs: 'failing' };
  const each = await passes(async () => {
    for (const { name } of tests.toReversed()) await runChosen({ file, only: [name] });
  });
  if (each) return { file, tests, runs: 'each' };
  return { file, tests, runs: (await passes(() => runChosen({ file }))) ? 'whole' : 'fresh' };
}

async function attempt(mutant: number, tests: readonly ChosenTests[]): Promise<Answer> {
  const state = globalThis.__mutants;
  for (const chosen of tests) {
    const suite = await suiteOf(chosen.file).catch(() => undefined);
    if (suite === undefined)
      return { answer: 'killed', by: `${chosen.file} cannot be loaded`, isSpent: true };
    state.active = mutant;
    process.env.MUTANT = String(mutant);
    let failed: TestFailed | undefined;
    try {
      await runChosen(chosen);
    } catch (error) {
      failed = error instanceof TestFailed ? error : new TestFailed(chosen.file, error);
    }
    if (failed === undefined) continue;
    const by = `${chosen.file}: ${failed.test}`;
    if (process.env.MUTANTS_SHOW !== undefined) console.error(by, failed.cause);
    // A mutant of what runs while modules are loaded cannot be taken back.
    if (process.env.MUTANTS_ONE !== undefined) return { answer: 'killed', by, isSpent };
    state.active = -1;
    process.env.MUTANT = '-1';
    try {
      await runChosen(chosen.only === undefined ? chosen : { file: chosen.file, only: [failed.test] });
    } catch {
      return { answer: 'unsure', by, isSpent };
    }
    return { answer: 'killed', by, isSpent };
  }
  return { answer: 'survived' };
}

async function simulated({ mutant, scenario, seed, hours }: Ask & { ask: 'simulate' }): Promise<Answer> {
  const state = globalThis.__mutants;
  const reached = new Set<number>();
  state.active = mutant;
  state.reached = mutant < 0 ? reached : undefined;
  const { promise: outside, reject } = Promise.withResolvers<never>();
  outside.catch(() => undefined);
  failOutside = reject;
  try {
    const { simulate } = await import('../../test/simulation/run.ts');
    const { broken } = await Promise.race([simulate({ seed, hours, only: scenario }), outside]);
    return { answer: 'simulated', ...(broken === undefined ? {} : { broken }), reached: [...reached] };
  } catch (error) {
    return { answer: 'simulated', broken: String(error), reached: [] };
  } finally {
    state.reached = undefined;
    failOutside = () => undefined;
  }
}

async function answerOf(ask: Ask): Promise<Answer> {
  switch (ask.ask) {
    case 'survey':
      return { answer: 'survey', survey: await survey(ask.file) };
    case 'try':
      return attempt(ask.mutant, ask.tests);
    case 'simulate':
      return simulated(ask);
  }
}

process.on('message', async (ask: Ask) => {
  const answer = await answerOf(ask);
  globalThis.__mutants.active = -1;
  send(answer);
});
// Who asked is gone.
process.on('disconnect', () => process.exit());
send({ answer: 'ready' });

function send(answer: Answer): void {
  process.send?.(answer);
}
