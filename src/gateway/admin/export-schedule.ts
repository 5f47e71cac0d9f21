/**
 * Exports everything up to the stable height again and again, into one folder. Whose turn it is, and how the last one
 * ended, is written down: of several processes one does it, and any of them can tell.
 */
import type { ScheduleState } from '../../formats/gateway-admin-answers.ts';
import type { Job } from '../../kernel/background/job.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { clocks } from '../../storage/sql/lease.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { gatewayStopping } from '../export/exporter.ts';
import type { ExportRequest } from '../export/write.ts';
import type { Exports } from './exports.ts';
import type { JobStatus } from './shared-job.ts';

export interface ExportScheduleOptions {
  readonly sql: Sql;
  readonly log: Logger;
  readonly exports: Pick<Exports, 'start' | 'status'>;
  readonly everyMs: number;
  /** How often to see whether it is time. */
  readonly lookEveryMs?: number;
  readonly request: Omit<ExportRequest, 'endHeight' | 'resume'>;
}

interface Turn {
  readonly status: string;
  /** When the last run began, by the database's clock; moved back where it must be tried again sooner. */
  readonly told_at: number;
}

interface TurnStatus extends JobStatus {
  readonly startedAt?: number;
}

const rowName = 'export-schedule';
const defaultLookMs = 5_000;
/** After a failure, and where an operator's export was in the way. */
const retryMs = 10 * 60_000;

export class ExportSchedule implements Job {
  readonly #options: ExportScheduleOptions;
  readonly #task: WakeableTask;

  constructor(options: ExportScheduleOptions) {
    this.#options = options;
    const { log, lookEveryMs = defaultLookMs } = options;
    this.#task = new WakeableTask({
      name: 'scheduled export',
      stuckAfterMs: Number.POSITIVE_INFINITY,
      run: async () => {
        await this.#runIfDue();
        return lookEveryMs;
      },
      failed: (error) => {
        log.warn({ err: error }, 'the scheduled export could not be begun');
        return lookEveryMs;
      },
    });
  }

  start(): void {
    this.#task.start();
  }

  reports(): readonly RunReport[] {
    return this.#task.reports();
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  async state(): Promise<ScheduleState> {
    const { everyMs, request } = this.#options;
    const row = await this.#read();
    const last = row && (await this.#lastStatus(row));
    return {
      everyMinutes: everyMs / 60_000,
      outputDir: request.outputDir,
      lastRunAt: last?.startedAt === undefined ? null : new Date(last.startedAt).toISOString(),
      lastStatus: last?.status ?? 'not_started',
      nextRunAt: new Date(row === undefined ? Date.now() : row.told_at + everyMs).toISOString(),
      ...(last?.error !== undefined && { error: last.error }),
    };
  }

  /** For the health check. */
  async problems(): Promise<readonly string[]> {
    const row = await this.#read();
    const { status, error } = row === undefined ? { status: 'not_started' } : await this.#lastStatus(row);
    return status === 'errored' ? [`The scheduled Parquet export failed: ${error}`] : [];
  }

  async #runIfDue(): Promise<void> {
    const { exports, request, everyMs, log } = this.#options;
    const row = await this.#read();
    const last = row && (await this.#lastStatus(row));
    // One whose process is gone is begun again at once, and goes on where that one was.
    const isDead = row !== undefined && isRunning(row) && last?.status === 'errored';
    if (!(await this.#takeTurn(isDead ? row.told_at : undefined))) return;
    const startedAt = await this.#now();
    const retry = () => this.#beginAgainIn(Math.min(everyMs, retryMs));
    // Of the two things that are told the end comes last, however soon it is.
    const begun = Promise.withResolvers<void>();
    try {
      const started = await exports.start(
        { ...request, endHeight: Number.MAX_SAFE_INTEGER, resume: true },
        {
          scheduled: true,
          onEnd: async ({ status, error }) => {
            await begun.promise;
            if (error === gatewayStopping) {
              // Nothing is wrong: whoever starts next goes on.
              await this.#tell({ status: 'cancelled', startedAt });
              await this.#beginAgainIn(0);
              return;
            }
            await this.#tell({ status, startedAt, ...(error !== undefined && { error }) });
            if (status === 'errored') await retry();
          },
        },
      );
      if (started === undefined) {
        await retry();
        return;
      }
      await this.#tell({ status: 'running', jobId: started.jobId, startedAt });
      begun.resolve();
    } catch (error) {
      log.warn({ err: error }, 'the scheduled export could not be begun');
      begun.resolve();
      await this.#tell({ status: 'errored', error: messageOf(error), startedAt });
      await retry();
    }
  }

  /** What the row says, unless the process that said it is gone. */
  async #lastStatus(row: Turn): Promise<TurnStatus> {
    const told: TurnStatus = JSON.parse(row.status);
    if (told.status !== 'running') return told;
    const job = await this.#options.exports.status();
    if (job.jobId === told.jobId && job.status === 'running') return told;
    // It may have ended between the two questions.
    const now = await this.#read();
    if (now !== undefined && now.status !== row.status) return this.#lastStatus(now);
    return { ...told, status: 'errored', error: 'The process that did it has ended' };
  }

  /** True for one of all processes: when the time is over since the last turn, or since the one of a dead process. */
  async #takeTurn(deadSince: number | undefined): Promise<boolean> {
    const now = await this.#now();
    const changed = await this.#options.sql.run(
      `INSERT INTO operator_jobs (name, holder, running, status, told_at) VALUES (?, '', 0, '{"status":"not_started"}', ?)
       ON CONFLICT (name) DO UPDATE SET told_at = excluded.told_at
       WHERE operator_jobs.told_at <= ? OR operator_jobs.told_at = ?`,
      rowName,
      now,
      now - this.#options.everyMs,
      deadSince ?? -1,
    );
    return changed === 1;
  }

  async #beginAgainIn(ms: number): Promise<void> {
    const at = (await this.#now()) - this.#options.everyMs + ms;
    await this.#options.sql.run('UPDATE operator_jobs SET told_at = ? WHERE name = ?', at, rowName);
  }

  async #tell(status: TurnStatus): Promise<void> {
    await this.#options.sql.run(
      'UPDATE operator_jobs SET status = ? WHERE name = ?',
      JSON.stringify(status),
      rowName,
    );
  }

  #read(): Promise<Turn | undefined> {
    return this.#options.sql.get<Turn>('SELECT status, told_at FROM operator_jobs WHERE name = ?', rowName);
  }

  async #now(): Promise<number> {
    const row = await this.#options.sql.get<{ now: number }>(
      `SELECT ${clocks[this.#options.sql.engine]} AS now`,
    );
    return row?.now ?? 0;
  }
}

function isRunning(row: Turn): boolean {
  const told: TurnStatus = JSON.parse(row.status);
  return told.status === 'running';
}
