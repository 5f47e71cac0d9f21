/**
 * Mutants of the program, and which of them no test notices: `npm run mutate -- credits [payments/card src/x.ts …]`.
 *
 *   --sample N      N mutants of each room, drawn from --from
 *   --from SEED     another sample
 *   --only ID,…     these mutants, with what the failing test says
 *   --list          what would be tried
 *   --again         tries also what was tried before
 *   --state FOLDER  where results are kept between runs (default: a folder of the system's temporary one)
 *   --jobs N        processes at a time (default 1)
 *   --postgres      what the tests do not notice on SQLite, with those on PostgreSQL, which is started
 *   --simulate      what no test notices is put into the simulated world, too (`mutants/simulation.ts`)
 *
 * A mutant is one small change: `mutants/make.ts` says which kinds there are. The nearest tests that reach it are run up
 * to the first that fails. One that lives is to be killed by a test, or stands in `mutants/survivors.ts` with the reason
 * why it may live; any other makes the run fail.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { preparePostgres } from '../test/support/postgres-server.ts';
import { type Mutant, mutate } from './mutants/make.ts';
import { distance, ImportGraph } from './mutants/nearest-tests.ts';
import { MutantProcess, type ProcessOptions } from './mutants/process.ts';
import { Simulation } from './mutants/simulation.ts';
import { isMeant, survivors } from './mutants/survivors.ts';
import type { Answer, Ask, ChosenTests, Survey } from './mutants/worker.ts';

const root = resolve(import.meta.dirname, '..');

/** Where else than beside a room its tests are. */
const furtherTests: Readonly<Record<string, readonly string[]>> = {
  credits: [
    'src/payment/auth',
    'src/payment/routes/balance.test.ts',
    'src/payments/returns/returns.test.ts',
    'src/names/signatures.test.ts',
    'src/upload/limited-discounts.test.ts',
  ],
  payments: ['src/payment'],
  'upload/bundler': ['src/upload/engines.test.ts'],
  'names/actions': ['src/names'],
  'storage/sql': ['src/storage'],
};
/** Tables, words and stand-ins: what they say is compared with the contract elsewhere, or used by tests alone. */
const isNotMutated = /(?:\.test|\/testing|\/migrations|\/errors|\/metrics)\.ts$|\/testing\//;

/** Kill processes again and again, for minutes: what they show, mutants of one line do not. */
const isNotRun = /\/crash\.test\.ts$/;

/** What is run of the tests that reach a mutant: the nearest and quickest, together this long without it. */
const longestMs = 15_000;
/** A file that takes longer by itself is a long test, which runs elsewhere. */
const longestFileMs = 300_000;
const noMutant = -1;
/** Of a mutant that did not answer, with twice the time each. */
const mostRounds = 3;

type Verdict = 'killed' | 'timed out' | 'broke the world' | 'survived';
interface Result {
  readonly id: string;
  readonly verdict: Verdict;
  /** Hash of the mutated file, and of the tests: what survived is tried again with other tests. */
  readonly source: string;
  readonly tests: string;
  readonly by?: string;
  /** It lives in the simulated world as well. */
  readonly isSimulated?: boolean;
}

interface Tried extends Mutant {
  readonly number: number;
}

const { values: options, positionals } = parseArgs({
  options: {
    sample: { type: 'string' },
    from: { type: 'string', default: '1' },
    only: { type: 'string' },
    list: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
    state: { type: 'string', default: join(tmpdir(), 'turnpike-mutants') },
    jobs: { type: 'string', default: '1' },
    postgres: { type: 'boolean', default: false },
    simulate: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
const graph = new ImportGraph(root);

/** A room, or a part of it that is asked for: its mutants, its tests, and what became of each. */
class Room {
  readonly name: string;
  readonly mutants: readonly Tried[];
  readonly results = new Map<string, Result>();
  readonly #codeHash: string;
  readonly #path: string;
  readonly #folder: string;
  readonly #temporary: string;
  readonly #tests: readonly string[];
  readonly #testHash: string;
  readonly #resultFile: string;
  readonly #simulation: Simulation | undefined;
  #surveys: readonly Survey[] = [];

  constructor(name: string, temporary: string) {
    this.name = name;
    this.#temporary = temporary;
    const path = name.replace(/^src\//, '');
    const room =
      Object.keys(furtherTests).find((one) => path === one || path.startsWith(`${one}/`)) ??
      path.split('/')[0] ??
      path;
    this.#path = `src/${path}`;
    const files = globSync(`src/${room}/**/*.ts`, { cwd: root })
      .filter((file) => !isNotMutated.test(file))
      .sort();
    if (!files.some((file) => this.#isAsked(file))) throw new Error(`no file to mutate at src/${path}`);
    const mutants: Tried[] = [];
    const codes = files.map((file) => {
      const from = mutants.length;
      const made = mutate(file, graph.text(file), from);
      mutants.push(...made.mutants.map((mutant, index) => ({ ...mutant, number: from + index })));
      return { file, code: made.code };
    });
    this.#codeHash = hashOf(JSON.stringify([codes, options.postgres]));
    this.#folder = join(options.state, 'code', this.#codeHash);
    mkdirSync(this.#folder, { recursive: true });
    for (const { file, code } of codes)
      writeFileSync(join(this.#folder, `${encodeURIComponent(file)}.js`), code);
    this.mutants = mutants.filter(({ file }) => this.#isAsked(file));
    const folders = [`src/${room}`, ...(furtherTests[room] ?? [])];
    this.#tests = [...new Set(graph.testsIn(folders))].filter((test) => {
      if (isNotRun.test(test)) return false;
      const reached = graph.reached(test);
      return files.some((file) => reached.has(file));
    });
    this.#testHash = hashOf(this.#tests.map((test) => graph.text(test)).join('\n'));
    this.#simulation = options.simulate
      ? new Simulation({
          room,
          codeHash: this.#codeHash,
          graph,
          surveys: join(options.state, 'surveys'),
          process: this.#processOptions(),
        })
      : undefined;
    const resultsOf = (engine: string) => join(options.state, `${room.replaceAll('/', '-')}${engine}.jsonl`);
    this.#resultFile = resultsOf(options.postgres ? '-postgres' : '');
    for (const result of readResults(this.#resultFile)) this.results.set(result.id, result);
    if (!options.postgres) return;
    for (const result of readResults(resultsOf('')))
      if (result.verdict !== 'survived') this.results.set(result.id, result);
  }

  chosen(): Tried[] {
    const { only, sample, from } = options;
    if (only !== undefined) return this.mutants.filter(({ id }) => only.split(',').includes(id));
    if (sample === undefined) return [...this.mutants];
    const drawn = [...this.mutants].sort((one, other) =>
      hashOf(from + one.id).localeCompare(hashOf(from + other.id)),
    );
    return drawn.slice(0, Number(sample)).sort((one, other) => one.number - other.number);
  }

  /** The result of a run before, where nothing that it stands on has changed. */
  known(mutant: Mutant): Result | undefined {
    const result = this.results.get(mutant.id);
    if (result === undefined || result.source !== hashOf(graph.text(mutant.file))) return undefined;
    if (result.verdict !== 'survived') return result;
    if (result.tests !== this.#testHash) return undefined;
    return options.simulate && result.isSimulated !== true ? undefined : result;
  }

  #processOptions(environment: NodeJS.ProcessEnv = {}): ProcessOptions {
    return {
      folder: this.#folder,
      temporary: this.#temporary,
      isShown: options.only !== undefined,
      environment: {
        ...environment,
        ...(postgres === undefined ? {} : { TEST_DATABASE_URL: postgres.url }),
      },
    };
  }

  #isAsked(file: string): boolean {
    return file === this.#path || file.startsWith(`${this.#path}/`);
  }

  async survey(): Promise<void> {
    const surveys: Survey[] = [];
    let worker: MutantProcess | undefined;
    for (const file of this.#tests) {
      const cached = join(
        options.state,
        'surveys',
        `${hashOf(`${this.#codeHash}\n${file}\n${graph.hash(file)}`)}.json`,
      );
      if (!existsSync(cached)) {
        if (worker === undefined || worker.isWorn) {
          worker = new MutantProcess(this.#processOptions());
          await worker.ready();
        }
        const from = performance.now();
        const answer = await worker.ask({ ask: 'survey', file }, longestFileMs);
        const survey: Survey =
          answer?.answer === 'survey' ? answer.survey : { file, tests: [], runs: 'failing' };
        mkdirSync(join(options.state, 'surveys'), { recursive: true });
        writeFileSync(cached, JSON.stringify(survey));
        const seconds = Math.round((performance.now() - from) / 100) / 10;
        console.log(`tests of ${file}: ${survey.tests.length}, run ${survey.runs} (${seconds} s)`);
      }
      const survey: Survey = JSON.parse(readFileSync(cached, 'utf8'));
      surveys.push(survey);
    }
    worker?.end();
    this.#surveys = surveys;
    await this.#simulation?.survey();
  }

  async run(mutants: readonly Tried[], told: (mutant: Mutant, result: Result) => void): Promise<void> {
    const queue = [...mutants];
    const loops = Array.from({ length: Number(options.jobs) }, async () => {
      const worker: { current?: MutantProcess } = {};
      for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
        const { verdict, by } = await this.#judge(mutant, worker);
        const result: Result = {
          id: mutant.id,
          verdict,
          source: hashOf(graph.text(mutant.file)),
          tests: this.#testHash,
          ...(by === undefined ? {} : { by }),
          ...(verdict === 'survived' && options.simulate ? { isSimulated: true } : {}),
        };
        this.results.set(mutant.id, result);
        appendFileSync(this.#resultFile, `${JSON.stringify(result)}\n`);
        told(mutant, result);
      }
      worker.current?.end();
    });
    await Promise.all(loops);
    this.#simulation?.end();
  }

  /** By the tests, where they have not been asked in vain before, and then by the simulated world. */
  async #judge(
    mutant: Tried,
    worker: { current?: MutantProcess },
  ): Promise<{ verdict: Verdict; by?: string | undefined }> {
    const before = this.results.get(mutant.id);
    const isTested =
      !options.again &&
      before?.verdict === 'survived' &&
      before.tests === this.#testHash &&
      before.source === hashOf(graph.text(mutant.file));
    const tested: { verdict: Verdict; by?: string | undefined } = isTested
      ? { verdict: 'survived' }
      : await this.#attempt(mutant, worker);
    if (tested.verdict !== 'survived' || this.#simulation === undefined) return tested;
    return (await this.#simulation.judge(mutant)) ?? tested;
  }

  async #attempt(
    mutant: Tried,
    worker: { current?: MutantProcess },
  ): Promise<{ verdict: Verdict; by?: string | undefined }> {
    const shared = mutant.isStatic ? [] : this.#testsOf(mutant, ['each', 'whole']);
    if (shared.length > 0) {
      if (worker.current === undefined || worker.current.isWorn) {
        worker.current?.end();
        worker.current = new MutantProcess(this.#processOptions());
        await worker.current.ready();
      }
      const answer = await worker.current.ask(askOf(mutant.number, shared), limitOf(shared));
      if (answer === undefined) return this.#alone(mutant, shared);
      if ('isSpent' in answer && answer.isSpent) worker.current.end();
      if (answer.answer === 'killed') return { verdict: 'killed', by: answer.by };
      if (answer.answer === 'unsure') worker.current.end();
      if (answer.answer === 'unsure') return this.#alone(mutant, shared);
    }
    const alone = this.#testsOf(mutant, mutant.isStatic ? ['each', 'whole', 'fresh'] : ['fresh']);
    return alone.length === 0 ? { verdict: 'survived' } : this.#alone(mutant, alone);
  }

  /**
   * In a process that has tried nothing before and in which the mutant acts from the start. On a busy machine tests may be
   * late for no fault of the mutant: it has timed out only where the same tests end in that time without it.
   */
  async #alone(
    mutant: Tried,
    tests: readonly TestsOfFile[],
  ): Promise<{ verdict: Verdict; by?: string | undefined }> {
    for (let round = 0, limit = limitOf(tests); round < mostRounds; round += 1, limit *= 2) {
      const answer = await this.#askFresh(mutant.number, tests, limit);
      if (answer !== undefined)
        return 'by' in answer ? { verdict: 'killed', by: answer.by } : { verdict: 'survived' };
      if ((await this.#askFresh(noMutant, tests, limit))?.answer === 'survived')
        return { verdict: 'timed out', by: tests[0]?.file };
    }
    return { verdict: 'survived' };
  }

  async #askFresh(number: number, tests: readonly TestsOfFile[], limit: number): Promise<Answer | undefined> {
    const worker = new MutantProcess(this.#processOptions({ MUTANT: String(number), MUTANTS_ONE: '1' }));
    await worker.ready();
    const answer = await worker.ask(askOf(number, tests), limit);
    worker.end();
    return answer;
  }

  #testsOf(mutant: Tried, runs: readonly Survey['runs'][]): TestsOfFile[] {
    const reaching = this.#surveys
      .filter((survey) => runs.includes(survey.runs))
      .map((survey) => {
        const tests = survey.tests.filter(
          ({ reached }) =>
            reached.includes(mutant.number) ||
            (mutant.isStatic && graph.reached(survey.file).has(mutant.file)),
        );
        const counted = survey.runs === 'each' ? tests : survey.tests;
        const ms = counted.reduce((sum, test) => sum + test.ms, 0);
        return { file: survey.file, runs: survey.runs, tests, ms };
      })
      .filter(({ tests }) => tests.length > 0)
      .sort(
        (one, other) =>
          distance(one.file, mutant.file) - distance(other.file, mutant.file) || one.ms - other.ms,
      );
    const chosen: TestsOfFile[] = [];
    let left = longestMs;
    for (const { file, runs: how, tests, ms } of reaching) {
      if (how !== 'each') {
        if (ms <= left || chosen.length === 0) {
          chosen.push({ file, ms });
          left -= ms;
        }
        continue;
      }
      const only: string[] = [];
      let spent = 0;
      for (const test of [...tests].sort((one, other) => one.ms - other.ms)) {
        if (test.ms > left && (chosen.length > 0 || only.length > 0)) continue;
        only.push(test.name);
        spent += test.ms;
        left -= test.ms;
      }
      if (only.length > 0) chosen.push({ file, only, ms: spent });
    }
    return chosen;
  }
}

function readResults(file: string): Result[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line): Result => JSON.parse(line));
}

interface TestsOfFile extends ChosenTests {
  readonly ms: number;
}

function askOf(number: number, tests: readonly TestsOfFile[]): Ask {
  return { ask: 'try', mutant: number, tests: tests.map(({ ms: _, ...chosen }) => chosen) };
}

/** Loading the tests is part of it, once in a process. */
function limitOf(tests: readonly TestsOfFile[]): number {
  return 3 * tests.reduce((sum, { ms }) => sum + ms, 0) + 10_000;
}

function reasonOf(mutant: Mutant): string | undefined {
  return survivors.find((one) => isMeant(one, mutant))?.reason;
}

function describe({ id, file, line, kind, was, becomes }: Mutant): string {
  return `  ${id} ${file}:${line} ${kind}\n    - ${was}\n    + ${becomes === ';' ? '' : becomes}`;
}

const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const temporary = mkdtempSync(join(memory, 'turnpike-mutants-'));
process.on('exit', () => {
  // Left by tests that were ended on the way (`test/support/small-disk.ts`).
  for (const disk of globSync(join(temporary, 'turnpike-small-disk-*')))
    spawnSync('umount', ['--lazy', disk]);
  rmSync(temporary, { recursive: true, force: true });
});
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));
mkdirSync(options.state, { recursive: true });

const postgres = options.postgres && !options.list ? await preparePostgres() : undefined;
const rows: string[] = [];
let isRefused = false;
for (const name of positionals) {
  const room = new Room(name, temporary);
  const chosen = room.chosen();
  if (options.list) {
    for (const mutant of chosen) console.log(describe(mutant));
    continue;
  }
  const tried = chosen.filter(
    (mutant) => options.again || options.only !== undefined || room.known(mutant) === undefined,
  );
  if (tried.length > 0) await room.survey();
  let count = 0;
  await room.run(tried, (mutant, { verdict, by }) => {
    count += 1;
    if (verdict === 'survived') console.log(`${count}/${tried.length} survived\n${describe(mutant)}`);
    else if (options.only !== undefined) console.log(`${verdict} by ${by}\n${describe(mutant)}`);
    else if (count % 50 === 0) console.log(`${count}/${tried.length}`);
  });
  const of = (verdict: Verdict) => chosen.filter(({ id }) => room.results.get(id)?.verdict === verdict);
  const alive = of('survived');
  const kept = alive.filter((mutant) => reasonOf(mutant) !== undefined);
  const open = alive.filter((mutant) => reasonOf(mutant) === undefined);
  const found = of('killed').length + of('timed out').length + of('broke the world').length;
  const score = Math.round((1000 * found) / (chosen.length - kept.length)) / 10;
  rows.push(
    `| \`${name}\` | ${room.mutants.length} | ${chosen.length} | ${of('killed').length} | ${of('timed out').length} | ${of('broke the world').length} | ${kept.length} | ${open.length} | ${score} % |`,
  );
  if (open.length > 0) {
    isRefused = true;
    console.log(`\n${name}: ${open.length} live that have no reason\n${open.map(describe).join('\n')}`);
  }
}
if (rows.length > 0) {
  console.log(
    '\n| Room | Made | Tried | Killed | Timed out | Broke the world | Live with a reason | Live without | Score |',
  );
  console.log(`|---|---|---|---|---|---|---|---|---|\n${rows.join('\n')}`);
}
await postgres?.stop();
process.exit(isRefused ? 1 : 0);
