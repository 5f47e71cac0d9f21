/** Published indexes as a part of the gateway. */

import { relative } from 'node:path';
import type { IndexesState, SubscriptionState } from '../../formats/gateway-admin-answers.ts';
import { createJob } from '../../kernel/background/job.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { messageOf } from '../../kernel/errors.ts';
import { mount } from '../../kernel/http/server.ts';
import type { Part } from '../../kernel/part.ts';
import { Scrub, type Scrubbable, type ScrubMetrics } from '../../storage/scrub.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { GatewayContext } from '../chain/context.ts';
import type { Meter } from '../meter.ts';
import { gatewayPrefixes } from '../paths.ts';
import { buildBands, type RefusedBand, refusalText } from './bands/build.ts';
import { indexFolders } from './folders.ts';
import { Catalog } from './publication/catalog.ts';
import { readObserver } from './publication/observer.ts';
import { PinnedFiles } from './publication/pinned-files.ts';
import { publisherOf } from './publication/publisher.ts';
import { repairPublished } from './publication/repair.ts';
import { indexRoutes } from './routes/indexes.ts';
import { stateOfPublication } from './state.ts';
import type { InstalledBands } from './subscriber/installed.ts';
import { InstalledFiles } from './subscriber/installed-files.ts';
import { Subscriber, subscriberSettings } from './subscriber/subscriber.ts';
import { readSubscriptions } from './subscriber/subscriptions.ts';
import { TorrentCommand } from './torrent-command.ts';

export interface IndexesPartDeps extends Pick<GatewayContext, 'config' | 'log' | 'metrics'> {
  readonly scrubs: ScrubMetrics;
  readonly sql: Sql;
  readonly meter: Meter;
  /** The bands of others that content is found with. */
  readonly subscribed: InstalledBands;
}

/** How soon what another process published or installed is seen. */
const refreshMs = 5_000;
const repairAgainMs = 60_000;

export interface IndexesPart extends Part {
  /** Its part of `/gw/info`. */
  info(): object;
  problems(): readonly string[];
  /** For operators. */
  state(): Promise<IndexesState>;
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
  const corruption = deps.metrics.counter(
    'index_files_corruption_total',
    'Published index files that were damaged and not served',
  );
  const pinned = new PinnedFiles(folders.blobs, (sha256) => {
    corruption.inc();
    log.warn({ sha256 }, 'a published index file was damaged: it is not served until it is mended');
    repairing.wake();
  });
  const repairing = new WakeableTask({
    name: 'mend published indexes',
    stuckAfterMs: Number.POSITIVE_INFINITY,
    run: () => renewInTurn().then(() => undefined),
    failed(error) {
      log.warn({ err: error }, 'a published index file could not be mended');
      return repairAgainMs;
    },
  });
  let builtAt = Date.now();
  /** Of the last build. */
  let refused: readonly RefusedBand[] = [];
  /** Once something was published it is kept fresh: on change, before it expires, and when it was damaged. */
  async function renew(): Promise<void> {
    const published = await catalog.current();
    if ((published === undefined && !catalog.isDamaged) || !config.START_WRITERS) return;
    const observer = await readObserver(config);
    const publisher = publisherOf(config, observer);
    const interval = config.INDEX_BUILD_INTERVAL_SECONDS * 1000;
    const damaged = published === undefined ? [] : await repairPublished(folders, published.publication);
    if (damaged.length > 0) log.warn({ bands: damaged }, 'damaged bands are built again');
    if (damaged.length > 0 || (interval > 0 && Date.now() >= builtAt + interval)) {
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

  let renewing = Promise.resolve();
  function renewInTurn(): Promise<void> {
    renewing = renewing.catch(() => {}).then(renew);
    return renewing;
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
        (scope) => indexRoutes(scope, { catalog, folders, pinned, meter }),
        gatewayPrefixes(config.GW_ALIAS_PREFIXES),
      ),
    jobs: [
      createJob({
        name: 'publish the indexes',
        everyMs: config.INDEX_PUBLISH_SCAN_INTERVAL_SECONDS * 1000,
        log,
        run: renewInTurn,
      }),
      {
        start: () => repairing.start({ waits: true }),
        stop: () => repairing.stop(),
        reports: () => repairing.reports(),
      },
      scrubOf(deps, 'published indexes', pinned, folders.scrubOfPublished),
      createJob({ name: 'look for a publication', everyMs: refreshMs, log, run: () => catalog.current() }),
    ],
    problems: () => refused.map(refusalText),
    async state() {
      const published = await catalog.current();
      return {
        publication: published === undefined ? null : stateOfPublication(published.publication),
        isDamaged: catalog.isDamaged,
        problems: refused.map(refusalText),
        subscriptions: following.state(),
        bandsInUse: deps.subscribed.count,
      };
    },
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

/** What is damaged can be had again: it is enough to look once a day. */
const scrubEveryMs = 24 * 60 * 60 * 1_000;

function scrubOf(
  { config, scrubs, log }: IndexesPartDeps,
  store: string,
  files: Scrubbable,
  stateFile: string,
) {
  const percent = config.SCRUB_PERCENT;
  return new Scrub({ store, files, stateFile, percent, everyMs: scrubEveryMs, metrics: scrubs, log });
}

/** Looks at every subscription now and then, one publisher never twice at once. */
function follow(deps: IndexesPartDeps) {
  const { config, log, metrics, subscribed } = deps;
  const folders = indexFolders(config.DATA_DIR);
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
  /** By publisher, what the last look at it found. */
  const looks = new Map<string, Pick<SubscriptionState, 'lastLookAt' | 'outcome' | 'reason'>>();
  const saw = (publisher: string, outcome: string, reason: string | undefined) =>
    looks.set(publisher, { lastLookAt: Date.now(), outcome, reason: reason ?? null });
  const polls = subscriptions.map(
    (subscription) =>
      new WakeableTask({
        name: 'follow a subscribed index',
        stuckAfterMs: Number.POSITIVE_INFINITY,
        async run() {
          const report = await subscriber.poll(subscription);
          saw(report.publisher, report.outcome, report.reason);
          outcomes.inc({ publisher: report.publisher, result: report.outcome });
          if (report.outcome !== 'unchanged' && report.outcome !== 'busy')
            log.info(report, 'looked at a subscribed index');
          return everyMs;
        },
        failed(error) {
          saw(subscription.publisher, 'error', messageOf(error));
          log.warn({ err: error }, 'a subscribed index cannot be followed');
          return everyMs;
        },
      }),
  );
  const corruption = metrics.counter(
    'index_subscription_corruption_total',
    'Bands of others that were damaged on disk',
  );
  const installed = new InstalledFiles(folders.installed, (folder) => {
    corruption.inc();
    log.warn({ folder }, 'a subscribed band was damaged: it is brought again');
    subscriber.bringAgain(folder);
    for (const task of polls) task.wake();
  });
  subscribed.onChanged((folder) => {
    const looking = installed.inspect(relative(folders.installed, folder), (step) => step());
    looking.catch((error: unknown) => log.warn({ err: error, folder }, 'a subscribed band cannot be read'));
  });
  const scrub = scrubOf(deps, 'subscribed indexes', installed, folders.scrubOfInstalled);
  const refreshing = createJob({ name: 'open subscribed bands', everyMs: refreshMs, log, run: refresh });
  return {
    state: (): SubscriptionState[] =>
      subscriptions.map(({ publisher, url, names }) => ({
        publisher,
        url,
        names: names ?? null,
        ...(looks.get(publisher) ?? { lastLookAt: null, outcome: null, reason: null }),
      })),
    async start(): Promise<void> {
      await refresh();
      for (const task of polls) task.start();
      refreshing.start();
      scrub.start();
    },
    async stop(): Promise<void> {
      const closed = subscriber.close();
      await Promise.all([refreshing.stop(), scrub.stop(), ...polls.map((task) => task.stop())]);
      await closed;
      await subscribed.close();
    },
  };
}
