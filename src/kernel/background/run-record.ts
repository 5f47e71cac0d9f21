/** What became of the runs of one background job, for the operator. */
import { redactUrlsInText } from '../../config/redact.ts';
import type { JobReport } from '../../formats/admin-answers.ts';
import { messageOf } from '../errors.ts';

export type RunReport = Omit<JobReport, 'part'>;

/** Longer than any run should take, unless a job says otherwise. */
const usuallyStuckMs = 15 * 60_000;
/** One bad moment of a database or of the network is no news. */
const worrying = 5;
const longestError = 500;

export interface RunRecordOptions {
  readonly name: string;
  /** Work that may take as long as it takes says `Number.POSITIVE_INFINITY`. */
  readonly stuckAfterMs?: number | undefined;
}

export class RunRecord {
  readonly #options: RunRecordOptions;
  #runs = 0;
  #failures = 0;
  #startedAt: number | undefined;
  #endedAt: number | undefined;
  #tookMs: number | undefined;
  #error: string | undefined;
  #errorAt: number | undefined;
  #running = false;

  constructor(options: RunRecordOptions) {
    this.#options = options;
  }

  get failures(): number {
    return this.#failures;
  }

  /** What failed before a new start is over. */
  forgive(): void {
    this.#failures = 0;
  }

  began(): void {
    this.#running = true;
    this.#startedAt = Date.now();
  }

  ended(): void {
    this.#end();
    this.#failures = 0;
  }

  failed(error: unknown): void {
    this.#end();
    this.#failures += 1;
    this.#error = redactUrlsInText(messageOf(error)).slice(0, longestError);
    this.#errorAt = this.#endedAt;
  }

  #end(): void {
    this.#running = false;
    this.#runs += 1;
    this.#endedAt = Date.now();
    this.#tookMs = this.#endedAt - (this.#startedAt ?? this.#endedAt);
  }

  /** `nextInMs`: undefined where it runs only when it is asked to. `off`: it never runs. */
  report({
    nextInMs,
    off = false,
  }: {
    readonly nextInMs?: number | undefined;
    readonly off?: boolean;
  } = {}): RunReport {
    const now = Date.now();
    const { name, stuckAfterMs = usuallyStuckMs } = this.#options;
    return {
      name,
      state: this.#running ? 'running' : off ? 'off' : this.#failures > 0 ? 'failing' : 'waiting',
      stuck: this.#running && now - (this.#startedAt ?? now) > stuckAfterMs,
      runs: this.#runs,
      failures: this.#failures,
      lastStartedAt: this.#startedAt ?? null,
      lastEndedAt: this.#endedAt ?? null,
      lastTookMs: this.#tookMs ?? null,
      lastError: this.#error ?? null,
      lastErrorAt: this.#errorAt ?? null,
      nextAt: nextInMs === undefined || this.#running ? null : Math.round(now + nextInMs),
    };
  }
}

/** Jobs that do not get on, in sentences that anybody may read: without what a database or a node said. */
export function jobProblems(reports: readonly RunReport[]): string[] {
  return reports.flatMap(({ name, stuck, lastStartedAt, failures }) => {
    if (stuck) {
      return [`The job "${name}" has been running since ${new Date(lastStartedAt ?? 0).toISOString()}.`];
    }
    return failures >= worrying ? [`The job "${name}" failed ${failures} times in a row.`] : [];
  });
}
