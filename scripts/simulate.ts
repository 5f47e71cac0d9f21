/**
 * The simulated world by hand: `npm run simulate -- --seed S` replays one run and tells its story, `--seeds N` runs so many
 * fresh ones, or those from `--from` on, until one fails. `--hours` is the simulated time of each, `--jobs` how many processes
 * share the work, `--minutes` when no further seed is begun, `--faults` names the only faults that there are, with commas,
 * `--only` the scenario: `uploads`, `names`, `payments` or `reading`.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { foundCode } from './mends/found-code.ts';

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
    quiet: { type: 'boolean', default: false },
  },
});
const hours = Number(values.hours);
const faults = values.faults?.split(',');

if (values.seed !== undefined) process.exit(await replay(Number(values.seed)));
process.exit(await many());

async function replay(seed: number): Promise<number> {
  const { simulate } = await import('../test/simulation/run.ts');
  const { story, broken, events, hours: passed } = await simulate({ seed, hours, faults, only: values.only });
  if (!values.quiet) console.log(story.text());
  console.log(`seed ${seed}: ${Math.round(passed)} hours, ${events} events`);
  if (broken !== undefined) console.log(`broken: ${broken}`);
  return broken === undefined ? 0 : foundCode;
}

/** Seeds one after the other, or shared out between processes. */
async function many(): Promise<number> {
  const from = values.from === undefined ? randomInt(2 ** 31) : Number(values.from);
  const [seeds, jobs] = [Number(values.seeds), Number(values.jobs)];
  if (jobs <= 1) return inTurn(from, seeds);
  const share = Math.ceil(seeds / jobs);
  const children = Array.from({ length: jobs }, (_, index) => {
    const own = [
      '--from',
      String(from + index * share),
      '--seeds',
      String(Math.min(share, seeds - index * share)),
    ];
    const others = ['--hours', String(hours), '--lines', values.lines];
    if (values.only !== undefined) others.push('--only', values.only);
    if (values.minutes !== undefined) others.push('--minutes', values.minutes);
    if (values.faults !== undefined) others.push('--faults', values.faults);
    return spawn(process.execPath, [import.meta.filename, ...own, ...others], { stdio: 'inherit' });
  });
  const codes = await Promise.all(
    children.map(
      (child) =>
        new Promise<number>((resolve) => {
          child.once('exit', (code) => {
            // One that failed is enough.
            if (code !== 0) for (const other of children) other.kill();
            resolve(code ?? 0);
          });
        }),
    ),
  );
  return codes.find((code) => code !== 0) ?? 0;
}

async function inTurn(from: number, seeds: number): Promise<number> {
  const { simulate } = await import('../test/simulation/run.ts');
  const started = performance.now();
  const passed = () => (performance.now() - started) / 1_000;
  let [simulated, events] = [0, 0];
  for (let seed = from; seed < from + seeds; seed += 1) {
    if (values.minutes !== undefined && passed() > Number(values.minutes) * 60) break;
    const report = await simulate({ seed, hours, faults, only: values.only });
    simulated += report.hours;
    events += report.events;
    if (report.broken === undefined) continue;
    console.log(report.story.text(Number(values.lines)));
    console.log(`seed ${seed} broke after ${Math.round(report.hours)} hours: ${report.broken}`);
    const which = values.only === undefined ? '' : ` --only ${values.only}`;
    console.log(`again: npm run simulate -- --seed ${seed} --hours ${hours}${which}`);
    return foundCode;
  }
  console.log(
    `nothing broke: ${Math.round(simulated)} simulated hours, ${events} events in ${Math.round(passed())} s from seed ${from}`,
  );
  return 0;
}
