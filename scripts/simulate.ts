/**
 * The simulated world by hand: `npm run simulate -- --seed S` replays one run and tells its story, `--seeds N` runs so many
 * fresh ones, or those from `--from` on, until one fails. `--hours` is the least simulated time of each, `--jobs` how many
 * processes share the work, `--minutes` when no further seed is begun, `--faults` names the only faults that there are, with
 * commas, `--only` the scenario: `uploads`, `upload-restores`, `upload-parts`, `names`, `payments`, `restores` or `reading`.
 *
 * With `--state FILE` a broken seed ends nothing: what became of each seed is kept there, and the same command goes on with
 * those that are missing.
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { foundCode } from './mends/found-code.ts';
import { SeedLog, type SeedRun } from './simulation/seed-log.ts';

/** What a worker answers for a seed. */
interface Answer extends SeedRun {
  /** The end of its story, where it broke. */
  readonly story: string;
  readonly memoryBytes: number;
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '100' },
    from: { type: 'string' },
    hours: { type: 'string', default: '12' },
    jobs: { type: 'string', default: '1' },
    minutes: { type: 'string' },
    faults: { type: 'string' },
    lines: { type: 'string', default: '60' },
    only: { type: 'string' },
    state: { type: 'string' },
    quiet: { type: 'boolean', default: false },
    worker: { type: 'boolean', default: false },
  },
});
const hours = Number(values.hours);
const faults = values.faults?.split(',');
const options = { hours, faults, only: values.only };
/** Most of what a world makes is garbage at once. */
const workerFlags = ['--max-semi-space-size=64'];
/** A worker that holds more is replaced by a fresh one. */
const mostMemoryBytes = 1.5e9;
const tellEveryMs = 60_000;

if (values.worker) await work();
else process.exit(values.seed === undefined ? await many() : await replay(Number(values.seed)));

async function replay(seed: number): Promise<number> {
  const { simulate } = await import('../test/simulation/run.ts');
  const { story, broken, events, hours: passed } = await simulate({ seed, ...options });
  // A pipe takes a long story only bit by bit.
  if (!values.quiet) await new Promise((written) => process.stdout.write(`${story.text()}\n`, written));
  console.log(`seed ${seed}: ${Math.round(passed)} hours, ${events} events`);
  if (broken !== undefined) console.log(`broken: ${broken}`);
  return broken === undefined ? 0 : foundCode;
}

/** Runs each seed that it is sent, and answers what became of it. */
async function work(): Promise<void> {
  const { simulate } = await import('../test/simulation/run.ts');
  process.on('disconnect', () => process.exit());
  process.on('message', async (seed: number) => {
    const before = process.cpuUsage();
    const { broken, story, events, hours: passed } = await simulate({ seed, ...options });
    const { user, system } = process.cpuUsage(before);
    const answer: Answer = {
      ...{ seed, events, hours: Math.round(passed * 10) / 10, cpuSeconds: (user + system) / 1e6 },
      ...(broken !== undefined && { broken }),
      story: broken === undefined ? '' : story.text(Number(values.lines)),
      memoryBytes: process.memoryUsage.rss(),
    };
    process.send?.(answer);
  });
  process.send?.('ready');
}

async function many(): Promise<number> {
  const log = new SeedLog(values.state);
  const given = values.from === undefined ? undefined : Number(values.from);
  const fresh = given ?? (log.begun.length === 0 ? randomInt(2 ** 31) : undefined);
  const settings = { from: fresh, hours, only: values.only, faults: values.faults };
  const from = log.begin(settings, values.state === undefined ? '' : codeNow());
  const last = from + Number(values.seeds);
  const started = performance.now();
  const isLate = () =>
    values.minutes !== undefined && performance.now() - started > Number(values.minutes) * 60_000;
  const goesOn = values.state !== undefined;
  let isOver = false;
  let next = from;
  const nextSeed = (): number | undefined => {
    while (next < last && log.runs.has(next)) next += 1;
    return isOver || isLate() || next >= last ? undefined : next++;
  };
  const took = (answer: Answer): void => {
    const { story, memoryBytes: _, broken, ...run } = answer;
    log.add({ ...run, ...(broken !== undefined && { broken: broken.split('\n', 1)[0] ?? '' }) });
    if (broken === undefined) return;
    if (!goesOn) console.log(story);
    console.log(`seed ${run.seed} broke after ${Math.round(run.hours)} hours: ${broken}`);
    const which = values.only === undefined ? '' : ` --only ${values.only}`;
    const named = values.faults === undefined ? '' : ` --faults '${values.faults}'`;
    console.log(`again: npm run simulate -- --seed ${run.seed} --hours ${hours}${which}${named}`);
    if (!goesOn) isOver = true;
  };
  const telling = setInterval(() => console.log(log.summary()), tellEveryMs);
  await Promise.all(Array.from({ length: Number(values.jobs) }, () => serve(nextSeed, took, () => isOver)));
  clearInterval(telling);
  const codes = new Set(log.begun.map(({ code }) => code).filter((code) => code !== ''));
  if (codes.size > 1) console.log(`by different code: ${[...codes].join(', ')}`);
  for (const { seed, broken } of goesOn ? log.broken : []) console.log(`broken: seed ${seed}: ${broken}`);
  console.log(
    `${log.summary()}, in ${Math.round((performance.now() - started) / 1_000)} s from seed ${from}`,
  );
  return log.broken.length === 0 ? 0 : foundCode;
}

/** One worker after the other, each for as long as it stays small; resolves when there are no more seeds. */
async function serve(
  nextSeed: () => number | undefined,
  took: (answer: Answer) => void,
  isOver: () => boolean,
): Promise<void> {
  let seed = nextSeed();
  while (seed !== undefined) {
    const worker = fork(import.meta.filename, ['--worker', ...process.argv.slice(2)], {
      execArgv: [...process.execArgv, ...workerFlags],
    });
    const ended = new Promise<undefined>((resolve) => worker.once('exit', () => resolve(undefined)));
    const heard = () => Promise.race([said(worker), ended]);
    let isSmall = (await heard()) !== undefined;
    if (!isSmall) throw new Error('the simulated world could not be loaded');
    while (seed !== undefined && isSmall) {
      worker.send(seed);
      const answer = await until(heard(), isOver);
      if (answer === 'over') break;
      if (answer === undefined) {
        const nothing = { hours: 0, events: 0, cpuSeconds: 0, memoryBytes: 0, story: '' };
        took({ seed, ...nothing, broken: 'its process ended' });
        isSmall = false;
      } else {
        took(answer);
        isSmall = answer.memoryBytes < mostMemoryBytes;
      }
      seed = nextSeed();
    }
    worker.kill();
    await ended;
    if (isOver()) return;
  }
}

function said(worker: ChildProcess): Promise<Answer> {
  return new Promise((resolve) => worker.once('message', (answer: Answer) => resolve(answer)));
}

/** The answer, or that another worker found something meanwhile. */
async function until<T>(answer: Promise<T>, isOver: () => boolean): Promise<T | 'over'> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<'over'>((resolve) => {
    timer = setInterval(() => {
      if (isOver()) resolve('over');
    }, 100);
  });
  try {
    return await Promise.race([answer, over]);
  } finally {
    clearInterval(timer);
  }
}

/** The commit of this tree, with a plus where files were changed since. */
function codeNow(): string {
  const git = (...given: string[]) => spawnSync('git', given, { encoding: 'utf8' }).stdout?.trim() ?? '';
  return `${git('rev-parse', '--short=9', 'HEAD')}${git('status', '--porcelain', '--untracked-files=no') === '' ? '' : '+'}`;
}
