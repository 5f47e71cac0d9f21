/**
 * For a process that appends to the log and tells it to nobody: another process may never do so, and the log must not grow
 * for ever.
 */
import type { Config } from '../config/config.ts';
import { createJob, type Job } from '../kernel/background/job.ts';
import type { Logger } from '../kernel/log.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { EventLog } from './event-log.ts';

export interface ForgetEventsOptions {
  readonly config: Pick<Config, 'EVENTS_RETENTION_HOURS' | 'EVENTS_MAX_ROWS'>;
  readonly sql: Sql;
  readonly log: Logger;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const everyMs = 10 * 60_000;
const hourMs = 3_600_000;

export function createForgetEvents({ config, sql, log, now }: ForgetEventsOptions): Job {
  return createJob({
    name: 'forget old events',
    everyMs,
    log,
    run: () => forgetEvents(new EventLog(sql), config, now()),
  });
}

/** Numbers what waits for it, and removes what is older, or more, than is kept. */
export async function forgetEvents(
  events: EventLog,
  config: ForgetEventsOptions['config'],
  now: number,
): Promise<void> {
  await events.number();
  const before = now - config.EVENTS_RETENTION_HOURS * hourMs;
  while ((await events.prune(before, config.EVENTS_MAX_ROWS)) > 0);
}
