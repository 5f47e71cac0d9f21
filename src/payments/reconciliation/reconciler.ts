/**
 * Goes through what the outside knows and the ledger does not, credits what carries its own proof, once, and tells the
 * rest. It may be run again, or be cut off, at any time: whoever comes second finds what was credited.
 */
import type { ReconciledRecord, ReconcileReport } from '../../formats/admin-answers.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { OutsideRecord, OutsideSource } from '../outside-records.ts';

export interface ReconcilerOptions {
  readonly sources: readonly OutsideSource[];
  readonly log: Logger;
  readonly now?: () => number;
}

export interface ReconcileRequest {
  /** Unix milliseconds: what is older is in the ledger. */
  readonly since: number;
  /** Nothing is credited, only told. */
  readonly dryRun: boolean;
}

/** More than a person reads; the rest is told by the next run. */
const mostRecords = 100_000;

type Writable = { -readonly [Name in keyof ReconcileReport]: ReconcileReport[Name] } & {
  records: ReconciledRecord[];
  failures: { source: string; reason: string }[];
};

export class Reconciler {
  readonly #options: ReconcilerOptions;
  #report: Writable | undefined;
  #running: Promise<void> | undefined;
  #isStopping = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** How the last run goes or ended; undefined: there was none since the start. */
  get report(): ReconcileReport | undefined {
    return this.#report;
  }

  /** Begins one; false while another runs. */
  start({ since, dryRun }: ReconcileRequest): boolean {
    if (this.#running !== undefined) return false;
    const report: Writable = {
      ...{ since, dryRun, begunAt: this.#now(), endedAt: null },
      ...{ records: [], failures: [] },
    };
    this.#report = report;
    this.#running = this.#run(report).finally(() => {
      report.endedAt = this.#now();
      this.#running = undefined;
    });
    return true;
  }

  /** Ends what runs after the record that it is at: the next run goes on. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
  }

  /** Resolves when nothing runs. */
  async settled(): Promise<void> {
    await this.#running;
  }

  #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  /** A source that does not answer holds up no other. */
  async #run(report: Writable): Promise<void> {
    for (const source of this.#options.sources) {
      try {
        for await (const record of source.unknown(report.since)) {
          if (this.#isStopping) throw new Error('the service was stopped');
          if (report.records.length >= mostRecords) throw new Error('there are too many to tell at once');
          report.records.push(await this.#deal(record, report.dryRun));
        }
      } catch (error) {
        this.#options.log.warn(
          { err: error, source: source.name },
          'what the outside knows could not be listed',
        );
        report.failures.push({ source: source.name, reason: messageOf(error) });
      }
    }
  }

  async #deal(record: OutsideRecord, dryRun: boolean): Promise<ReconciledRecord> {
    const { kind, id, at = null, what, openBecause, takenInBecause } = record;
    const told = { kind, id, at, what, address: null, winc: null };
    if (takenInBecause !== undefined) return { ...told, state: 'taken in', reason: takenInBecause };
    if (record.credit === undefined)
      return { ...told, state: 'open', reason: openBecause ?? 'nobody can prove it' };
    if (dryRun) return { ...told, state: 'would be credited', reason: null };
    try {
      const outcome = await record.credit();
      if (outcome.state !== 'credited') return { ...told, state: outcome.state, reason: outcome.reason };
      const { address } = outcome;
      const winc = outcome.winc.toString();
      this.#options.log.info({ kind, id, address, winc }, 'credited what the outside knew');
      return { ...told, state: 'credited', address, winc, reason: null };
    } catch (error) {
      this.#options.log.error({ err: error, kind, id }, 'what the outside knows could not be credited');
      return { ...told, state: 'open', reason: messageOf(error) };
    }
  }
}
