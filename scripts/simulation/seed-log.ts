/**
 * What became of the seeds of a long run, one JSON line each in a file that is only added to: a run that was cut off
 * goes on with the seeds that are missing. Each time it goes on, a line says with which code.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { isRecord, tryParseJson } from '../../src/formats/json.ts';

/** What one seed's run was. */
export interface SeedRun {
  readonly seed: number;
  /** Simulated. */
  readonly hours: number;
  readonly events: number;
  readonly cpuSeconds: number;
  /** What was not as it must be, in one line. */
  readonly broken?: string | undefined;
}

/** What all seeds of a file are run with. */
export interface RunSettings {
  readonly from: number;
  readonly hours: number;
  readonly only: string | undefined;
  readonly faults: string | undefined;
}

interface Begun extends RunSettings {
  readonly begun: string;
  /** The commit, with a plus where files were changed since. */
  readonly code: string;
}

export class SeedLog {
  readonly runs = new Map<number, SeedRun>();
  /** Of each time that it was begun or went on. */
  readonly begun: Begun[] = [];
  readonly #file: string | undefined;
  /** The last line of the file was cut off. */
  #isTorn = false;

  /** `file` undefined: nothing is kept. */
  constructor(file: string | undefined) {
    this.#file = file;
    if (file === undefined || !existsSync(file)) return;
    const text = readFileSync(file, 'utf8');
    this.#isTorn = text !== '' && !text.endsWith('\n');
    for (const line of text.split('\n')) this.#read(tryParseJson(line));
  }

  /** Before the first seed. Throws where the file is of other settings; answers the first seed. */
  begin(settings: Omit<RunSettings, 'from'> & { readonly from: number | undefined }, code: string): number {
    const [first] = this.begun;
    const from = settings.from ?? first?.from ?? 1;
    for (const name of ['hours', 'only', 'faults'] as const) {
      if (first !== undefined && first[name] !== settings[name])
        throw new Error(
          `${this.#file} was begun with --${name} ${first[name] ?? 'left out'}: give the same, or another file`,
        );
    }
    if (first !== undefined && first.from !== from)
      throw new Error(`${this.#file} was begun with --from ${first.from}: give the same, or another file`);
    const begun: Begun = { ...settings, from, code, begun: new Date().toISOString() };
    this.begun.push(begun);
    this.#append(begun);
    return from;
  }

  add(run: SeedRun): void {
    this.runs.set(run.seed, run);
    this.#append(run);
  }

  get broken(): readonly SeedRun[] {
    return [...this.runs.values()].filter(({ broken }) => broken !== undefined);
  }

  /** In one line: seeds, simulated years, what they took, how many broke. */
  summary(): string {
    const runs = [...this.runs.values()];
    const sum = (of: (run: SeedRun) => number) => runs.reduce((total, run) => total + of(run), 0);
    const years = sum(({ hours }) => hours) / (365.25 * 24);
    const seconds = runs.map(({ cpuSeconds }) => cpuSeconds).sort((one, other) => one - other);
    const median = seconds[Math.floor(seconds.length / 2)] ?? 0;
    return [
      `${runs.length} seeds`,
      `${years.toFixed(years < 10 ? 2 : 1)} simulated years`,
      `${Math.round(sum(({ events }) => events) / 1_000)} thousand events`,
      `${Math.round(sum(({ cpuSeconds }) => cpuSeconds))} CPU s (median ${median.toFixed(1)}, most ${(seconds.at(-1) ?? 0).toFixed(1)})`,
      `${this.broken.length} broken`,
    ].join(', ');
  }

  /** A line that was cut off is left out. */
  #read(line: unknown): void {
    if (!isRecord(line)) return;
    const text = (name: string) => (typeof line[name] === 'string' ? line[name] : undefined);
    const number = (name: string) => Number(line[name] ?? 0);
    const code = text('code');
    if (code !== undefined)
      this.begun.push({
        ...{ code, begun: text('begun') ?? '', from: number('from'), hours: number('hours') },
        ...{ only: text('only'), faults: text('faults') },
      });
    else if (typeof line.seed === 'number')
      this.runs.set(line.seed, {
        ...{ seed: line.seed, hours: number('hours'), events: number('events') },
        ...{ cpuSeconds: number('cpuSeconds'), broken: text('broken') },
      });
  }

  #append(line: SeedRun | Begun): void {
    if (this.#file === undefined) return;
    appendFileSync(this.#file, `${this.#isTorn ? '\n' : ''}${JSON.stringify(line)}\n`);
    this.#isTorn = false;
  }
}
