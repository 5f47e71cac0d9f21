/**
 * Whether the machine's clock is right, by what others say the time is. Leases, quotes and signatures go by it: one that
 * is off by minutes refuses good requests, and one that jumps keeps work from being done.
 */
import { createJob } from './background/job.ts';
import { machineNow } from './clock.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Part } from './part.ts';

export interface ClockWatchOptions {
  /** Each asks somebody for the time, in unix milliseconds. Those that do not answer say nothing. */
  readonly clocks: readonly (() => Promise<number | undefined>)[];
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly everyMs?: number;
  /** Unix milliseconds by the machine. */
  readonly now?: () => number;
}

/** Answers are rounded to a second and take a moment. */
const tolerableMs = 60_000;
const usuallyEveryMs = 60_000;

export function createClockWatch(options: ClockWatchOptions): Part {
  const { clocks, metrics, log, everyMs = usuallyEveryMs, now = machineNow } = options;
  let offsetMs = 0;
  const offset = metrics.gauge(
    'clock_offset_seconds',
    'How far the clock of this machine is ahead of those of others',
  );
  const off = metrics.gauge('clock_off', 'Whether the clock of this machine is off');
  const isOff = (): boolean => Math.abs(offsetMs) > tolerableMs;
  return {
    name: 'clock',
    jobs: [
      createJob({
        name: 'compare the clock',
        everyMs,
        log,
        async run() {
          const said = await Promise.all(clocks.map((ask) => aheadOf(ask, now).catch(() => undefined)));
          const known = said.filter((one) => one !== undefined).sort((a, b) => a - b);
          const middle = known[Math.floor(known.length / 2)];
          if (middle === undefined) return;
          const wasOff = isOff();
          offsetMs = middle;
          offset.set(offsetMs / 1000);
          off.set(Number(isOff()));
          if (isOff() && !wasOff)
            log.error({ seconds: Math.round(offsetMs / 1000) }, 'the clock of this machine is off');
        },
      }),
    ],
    problems: () => (isOff() ? [`Clock is off by ${Math.round(offsetMs / 1000)} seconds.`] : []),
  };
}

/** How far our clock is ahead, taken in the middle of the question. */
async function aheadOf(
  ask: () => Promise<number | undefined>,
  now: () => number,
): Promise<number | undefined> {
  const before = now();
  const told = await ask();
  return told === undefined ? undefined : (before + now()) / 2 - told;
}
