/** Published indexes as a part of the gateway. */
import { clearInterval, setInterval } from 'node:timers';
import type { Config } from '../../config/config.ts';
import { mount } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { Meter } from '../meter.ts';
import { gatewayPrefixes } from '../paths.ts';
import { buildBands } from './bands/build.ts';
import { indexFolders } from './folders.ts';
import { publisherOf, readObserver } from './publication/open.ts';
import { announceRoute } from './routes/announce.ts';
import { Catalog } from './routes/catalog.ts';
import { indexRoutes } from './routes/routes.ts';
import type { InstalledBands } from './subscriber/installed.ts';
import { subscriberSettings } from './subscriber/settings.ts';
import { Subscriber } from './subscriber/subscriber.ts';
import { readSubscriptions, type Subscription } from './subscriber/subscriptions.ts';
import { Seeding } from './swarm/seeding.ts';

export interface IndexesPartDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly sql: Sql;
  readonly meter: Meter;
  /** The bands of others that content is found with. */
  readonly subscribed: InstalledBands;
  /** This is one of several processes of a gateway. */
  readonly sharePort?: boolean;
}

/** How soon what another process published or installed is seen. */
const refreshMs = 5_000;

export interface IndexesPart extends Part {
  /** Its part of `/gw/info`. */
  info(): object;
}

export function createIndexesPart(deps: IndexesPartDeps): IndexesPart {
  const { config, log, metrics, sql, meter } = deps;
  const folders = indexFolders(config.DATA_DIR);
  const catalog = new Catalog(folders, log);
  let timer: NodeJS.Timeout | undefined;
  let looking: NodeJS.Timeout | undefined;
  let working: Promise<void> | undefined;
  let builtAt = Date.now();
  const { sharePort = false } = deps;
  const seeding = new Seeding({ config, catalog, folders, log, metrics, sharePort });
  const following = follow(deps);
  /** Once something was published it is kept fresh: on change, before it expires, and when it was damaged. */
  async function renew(): Promise<void> {
    const published = await catalog.current();
    if ((published === undefined && !catalog.isDamaged) || !config.START_WRITERS) return;
    const observer = await readObserver(config.DATA_DIR);
    const publisher = publisherOf(config, observer);
    const interval = config.INDEX_BUILD_INTERVAL_SECONDS * 1000;
    if (interval > 0 && Date.now() >= builtAt + interval) {
      builtAt = Date.now();
      await buildBands({
        sql,
        published: folders.published,
        bandHeights: config.INDEX_BAND_HEIGHTS,
        publisher: config.INDEX_PUBLISHER_WALLET ?? observer.address,
      });
    }
    const report = await publisher.publish();
    if (report.published) log.info(report, 'published the indexes');
  }

  return {
    name: 'indexes',
    // Shown exactly while something is published.
    info: () =>
      catalog.known === undefined
        ? {}
        : {
            indexes: {
              manifestUrl: '/gw/indexes',
              names: catalog.known.publication.indexes.map(({ name }) => name).sort(),
            },
          },
    routes: (app) =>
      mount(
        app,
        (scope) => {
          announceRoute(scope, seeding, config.TRUSTED_PROXIES);
          indexRoutes(scope, { catalog, folders, meter: () => meter });
        },
        gatewayPrefixes(config.GW_ALIAS_PREFIXES),
      ),
    async start() {
      await catalog.current();
      await seeding.refresh();
      await following.start();
      timer = setInterval(() => {
        working ??= renew()
          .catch((error: unknown) => log.warn({ err: error }, 'the indexes cannot be published'))
          .finally(() => {
            working = undefined;
          });
      }, config.INDEX_PUBLISH_SCAN_INTERVAL_SECONDS * 1000);
      timer.unref();
      looking = setInterval(() => {
        seeding.refresh().catch((error: unknown) => log.warn({ err: error }, 'torrents cannot be given'));
      }, refreshMs);
      looking.unref();
    },
    async stop() {
      clearInterval(timer);
      clearInterval(looking);
      await working;
      await seeding.stop();
      await following.stop();
    },
  };
}

/** Looks at every subscription now and then, one publisher never twice at once. */
function follow({ config, log, metrics, subscribed }: IndexesPartDeps) {
  const subscriptions = readSubscriptions(config.INDEX_SUBSCRIBE);
  const bytes = metrics.counter('index_subscription_bytes_total', 'Bytes of index files of others', ['from']);
  const outcomes = metrics.counter('index_subscription_total', 'Looks at publications', [
    'publisher',
    'result',
  ]);
  const bands = () => subscribed.count;
  metrics.gauge('index_swarm_installed_bands', 'Bands of others in use', [], bands);
  const refresh = (): Promise<void> =>
    subscribed
      .refresh()
      .catch((error: unknown) => log.warn({ err: error }, 'a subscribed index cannot be read'));
  const subscriber = new Subscriber({
    ...subscriberSettings(config),
    log,
    changed: () => refresh(),
    received: (from, count) => bytes.inc({ from }, count),
  });
  const timers: NodeJS.Timeout[] = [];
  const polling = new Map<Subscription, Promise<unknown>>();
  const poll = (subscription: Subscription): void => {
    if (polling.has(subscription)) return;
    const done = subscriber.poll(subscription).then((report) => {
      polling.delete(subscription);
      outcomes.inc({ publisher: report.publisher, result: report.outcome });
      if (report.outcome !== 'unchanged' && report.outcome !== 'busy')
        log.info(report, 'looked at a subscribed index');
    });
    polling.set(subscription, done);
  };
  return {
    async start(): Promise<void> {
      await refresh();
      for (const subscription of subscriptions) {
        poll(subscription);
        timers.push(setInterval(() => poll(subscription), config.INDEX_POLL_INTERVAL_SECONDS * 1000));
      }
      timers.push(setInterval(() => void refresh(), refreshMs));
      for (const timer of timers) timer.unref();
    },
    async stop(): Promise<void> {
      for (const timer of timers) clearInterval(timer);
      const closed = subscriber.close();
      await Promise.all(polling.values());
      await closed;
      await subscribed.close();
    },
  };
}
