/** Published indexes as a part of the gateway. */
import { createJob } from '../../kernel/background/job.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { mount } from '../../kernel/http/server.ts';
import type { Part } from '../../kernel/part.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { GatewayContext } from '../chain/context.ts';
import type { Meter } from '../meter.ts';
import { gatewayPrefixes } from '../paths.ts';
import { buildBands, type RefusedBand, refusalText } from './bands/build.ts';
import { indexFolders } from './folders.ts';
import { Catalog } from './publication/catalog.ts';
import { readObserver } from './publication/observer.ts';
import { publisherOf } from './publication/publisher.ts';
import { indexRoutes } from './routes/indexes.ts';
import type { InstalledBands } from './subscriber/installed.ts';
import { Subscriber, subscriberSettings } from './subscriber/subscriber.ts';
import { readSubscriptions } from './subscriber/subscriptions.ts';
import { TorrentCommand } from './torrent-command.ts';

export interface IndexesPartDeps extends Pick<GatewayContext, 'config' | 'log' | 'metrics'> {
  readonly sql: Sql;
  readonly meter: Meter;
  /** The bands of others that content is found with. */
  readonly subscribed: InstalledBands;
}

/** How soon what another process published or installed is seen. */
const refreshMs = 5_000;

export interface IndexesPart extends Part {
  /** Its part of `/gw/info`. */
  info(): object;
  problems(): readonly string[];
}

export function createIndexesPart(deps: IndexesPartDeps): IndexesPart {
  const { config, log, sql, meter } = deps;
  const folders = indexFolders(config.DATA_DIR);
  const catalog = new Catalog(folders, log);
  const command = config.INDEX_TORRENT_COMMAND;
  const torrents = command === undefined ? undefined : new TorrentCommand({ command, catalog, folders, log });
  const following = follow(deps);
  const refusedBands = deps.metrics.counter(
    'index_bands_refused_total',
    'Bands that were not built, since they would have lost records',
  );
  let builtAt = Date.now();
  /** Of the last build. */
  let refused: readonly RefusedBand[] = [];
  /** Once something was published it is kept fresh: on change, before it expires, and when it was damaged. */
  async function renew(): Promise<void> {
    const published = await catalog.current();
    if ((published === undefined && !catalog.isDamaged) || !config.START_WRITERS) return;
    const observer = await readObserver(config.DATA_DIR);
    const publisher = publisherOf(config, observer);
    const interval = config.INDEX_BUILD_INTERVAL_SECONDS * 1000;
    if (interval > 0 && Date.now() >= builtAt + interval) {
      builtAt = Date.now();
      const report = await buildBands({
        sql,
        published: folders.published,
        bandHeights: config.INDEX_BAND_HEIGHTS,
        publisher: config.INDEX_PUBLISHER_WALLET ?? observer.address,
      });
      refused = report.refused;
      refusedBands.inc(refused.length);
      for (const band of refused) log.error({ band }, refusalText(band));
    }
    const report = await publisher.publish();
    if (report.published) log.info(report, 'published the indexes');
  }

  return {
    name: 'indexes',
    // Shown exactly while something is published.
    info: () =>
      catalog.latest === undefined
        ? {}
        : {
            indexes: {
              manifestUrl: '/gw/indexes',
              names: catalog.latest.publication.indexes.map(({ name }) => name).sort(),
            },
          },
    routes: (app) =>
      mount(
        app,
        (scope) => indexRoutes(scope, { catalog, folders, meter }),
        gatewayPrefixes(config.GW_ALIAS_PREFIXES),
      ),
    jobs: [
      createJob({
        name: 'publish the indexes',
        everyMs: config.INDEX_PUBLISH_SCAN_INTERVAL_SECONDS * 1000,
        log,
        run: renew,
      }),
      createJob({ name: 'look for a publication', everyMs: refreshMs, log, run: () => catalog.current() }),
    ],
    problems: () => refused.map(refusalText),
    async start() {
      await catalog.current();
      await following.start();
      torrents?.start();
    },
    async stop() {
      await torrents?.stop();
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
  const everyMs = config.INDEX_POLL_INTERVAL_SECONDS * 1000;
  const polls = subscriptions.map(
    (subscription) =>
      new WakeableTask({
        async run() {
          const report = await subscriber.poll(subscription);
          outcomes.inc({ publisher: report.publisher, result: report.outcome });
          if (report.outcome !== 'unchanged' && report.outcome !== 'busy')
            log.info(report, 'looked at a subscribed index');
          return everyMs;
        },
        failed(error) {
          log.warn({ err: error }, 'a subscribed index cannot be followed');
          return everyMs;
        },
      }),
  );
  const refreshing = createJob({ name: 'open subscribed bands', everyMs: refreshMs, log, run: refresh });
  return {
    async start(): Promise<void> {
      await refresh();
      for (const task of polls) task.start();
      refreshing.start();
    },
    async stop(): Promise<void> {
      const closed = subscriber.close();
      await Promise.all([refreshing.stop(), ...polls.map((task) => task.stop())]);
      await closed;
      await subscribed.close();
    },
  };
}
