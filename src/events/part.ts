/** Everything that makes the log of one database followable: the feed, event streams and webhooks, as parts of a surface. */
import type { Config } from '../config/config.ts';
import type { Logger } from '../kernel/log.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { Part } from '../kernel/part.ts';
import type { Sql } from '../storage/sql/sql.ts';
import type { EventSource, FeedEvent, FeedQuery } from './feed.ts';
import { Hooks } from './hooks/hooks.ts';
import { createHookMetrics } from './hooks/metrics.ts';
import { LiveFeed } from './live-feed.ts';
import { EventStreams } from './streams/event-streams.ts';
import { ReaderLimits } from './streams/reader-limits.ts';

export interface EventsDeps<E extends FeedEvent, Q extends FeedQuery> {
  readonly config: Config;
  /** Whose migrations have `eventMigrations`. */
  readonly sql: Sql;
  readonly source: EventSource<E, Q>;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Events<E extends FeedEvent, Q extends FeedQuery> {
  readonly feed: LiveFeed<E, Q>;
  readonly streams: EventStreams<E, Q>;
  /** For whoever is served otherwise than by `streams`. */
  readonly limits: ReaderLimits;
  readonly hooks: Hooks<E, Q>;
  /** In the order they start. */
  readonly parts: readonly Part[];
}

const hour = 3_600_000;

export function createEvents<E extends FeedEvent, Q extends FeedQuery>(deps: EventsDeps<E, Q>): Events<E, Q> {
  const { config, sql, source, log, metrics } = deps;
  const told = metrics.counter('events_told_total', 'Events that were handed to readers as they happened');
  const delay = metrics.histogram(
    'events_delay_seconds',
    'From when an event was written to when its readers were told',
    [],
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
  );
  const feed = new LiveFeed({
    ...{ sql, source, log },
    retentionMs: config.EVENTS_RETENTION_HOURS * hour,
    maxRows: config.EVENTS_MAX_ROWS,
    pollMs: config.EVENTS_POLL_MS,
    onTold(events, delayMs) {
      told.inc(events);
      delay.observe(delayMs / 1_000);
    },
  });
  const limits = new ReaderLimits({
    max: config.EVENTS_MAX_READERS,
    maxPerNetwork: config.EVENTS_MAX_READERS_PER_NETWORK,
    proxies: config.TRUSTED_PROXY_COUNT,
  });
  const streams = new EventStreams({ feed, limits });
  const hooks = new Hooks({
    ...{ sql, feed, source, log },
    metrics: createHookMetrics(metrics),
    limits: {
      maxHooks: config.WEBHOOK_MAX_HOOKS,
      maxPerOwner: config.WEBHOOK_MAX_PER_WALLET,
      timeoutMs: config.WEBHOOK_TIMEOUT_MS,
      pollMs: config.EVENTS_POLL_MS,
      allowPrivate: config.WEBHOOK_ALLOW_PRIVATE,
      giveUpMs: config.WEBHOOK_GIVE_UP_HOURS * hour,
      endAfterMs: config.WEBHOOK_END_DAYS * 24 * hour,
      maxDeadLetters: config.WEBHOOK_MAX_DEAD_LETTERS,
      keepDeadLettersMs: config.WEBHOOK_DEAD_LETTER_DAYS * 24 * hour,
    },
  });
  metrics.shareGauge('events_readers', 'Event streams and subscriptions that are open', () => limits.count);
  metrics.shareGauge('webhooks', 'Webhooks that this process sends to', () => hooks.deliverer.figures.held);
  metrics.shareGauge(
    'webhooks_failing',
    'Of these, those whose last message was not taken',
    () => hooks.deliverer.figures.failing,
  );
  metrics.gauge(
    'webhooks_behind_rows',
    'Rows of the log of events that the slowest of them has not been told',
    [],
    () => hooks.deliverer.figures.behind,
  );
  return { feed, streams, limits, hooks, parts: [feed.part, streams.part, hooks.part] };
}
