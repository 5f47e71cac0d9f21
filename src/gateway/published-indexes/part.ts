/** Published indexes as a part of the gateway. */
import { clearInterval, setInterval } from 'node:timers';
import { mount } from '../../kernel/http/server.ts';
import type { CreatePart, GatewayContext } from '../context.ts';
import type { Meter } from '../metering/token-meter.ts';
import { gatewayPrefixes } from '../routes/gw.ts';
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
  /** In place of the gateway's own meter. */
  readonly meter?: () => Meter | undefined;
  /** The bands of others that content is found with; without them nothing is subscribed to. */
  readonly subscribed?: InstalledBands;
  /** This is one of several processes of a gateway. */
  readonly sharePort?: boolean;
}

/** How soon what another process published or installed is seen. */
const refreshMs = 5_000;

export function createIndexesPart(deps: IndexesPartDeps = {}): CreatePart {
  return (context) => {
    const { config, log, metrics } = context;
    const folders = indexFolders(config.DATA_DIR);
    const catalog = new Catalog(folders, log);
    let timer: NodeJS.Timeout | undefined;
    let looking: NodeJS.Timeout | undefined;
    let working: Promise<void> | undefined;
    let builtAt = Date.now();
    const { sharePort = false } = deps;
    const seeding = new Seeding({ config, catalog, folders, log, metrics, sharePort });
    const following = deps.subscribed && follow(context, deps.subscribed);
    // Shown exactly while something is published.
    Object.defineProperty(context.info, 'indexes', {
      enumerable: true,
      get: () =>
        catalog.known && {
          manifestUrl: '/gw/indexes',
          names: catalog.known.publication.indexes.map(({ name }) => name).sort(),
        },
    });

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
          sql: context.index.sql,
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
      routes: (app) =>
        mount(
          app,
          (scope) => {
            announceRoute(scope, seeding, config.TRUSTED_PROXIES);
            indexRoutes(scope, { catalog, folders, meter: () => deps.meter?.() ?? context.meter });
          },
          gatewayPrefixes(config.GW_ALIAS_PREFIXES),
        ),
      async start() {
        await catalog.current();
        await seeding.refresh();
        await following?.start();
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
        await following?.stop();
      },
    };
  };
}

/** Looks at every subscription now and then, one publisher never twice at once. */

function follow({ config, log, metrics }: GatewayContext, subscribed: InstalledBands) {
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
