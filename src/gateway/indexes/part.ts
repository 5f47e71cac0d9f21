/** Published indexes as a part of the gateway. */
import { clearInterval, setInterval } from 'node:timers';
import { mount } from '../../kernel/http/server.ts';
import type { CreatePart } from '../context.ts';
import { gatewayPrefixes } from '../routes/gateway-routes.ts';
import { buildBands } from './bands/build.ts';
import { indexFolders } from './folders.ts';
import { publisherOf, readObserver } from './publication/open.ts';
import { Catalog } from './routes/catalog.ts';
import { indexRoutes } from './routes/routes.ts';
import type { IndexMeter } from './routes/send-file.ts';

export interface IndexesPartDeps {
  /** Counts and prices index bytes; undefined while nothing is metered. */
  readonly meter?: () => IndexMeter | undefined;
}

export function createIndexesPart(deps: IndexesPartDeps = {}): CreatePart {
  return (context) => {
    const { config, log } = context;
    const folders = indexFolders(config.DATA_DIR);
    const catalog = new Catalog(folders, log);
    let timer: NodeJS.Timeout | undefined;
    let working: Promise<void> | undefined;
    let builtAt = Date.now();
    // Shown exactly while something is published.
    Object.defineProperty(context.info, 'indexes', {
      enumerable: true,
      get: () =>
        catalog.known && {
          manifestUrl: '/gw/indexes',
          names: catalog.known.publication.indexes.map(({ name }) => name).sort(),
        },
    });

    /** Once something was published it is kept fresh: on change, and before it expires. */
    async function renew(): Promise<void> {
      const published = await catalog.current();
      if (published === undefined || !config.START_WRITERS) return;
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
          (scope) => indexRoutes(scope, { catalog, folders, meter: () => deps.meter?.() }),
          gatewayPrefixes(config.GW_ALIAS_PREFIXES),
        ),
      async start() {
        await catalog.current();
        timer = setInterval(() => {
          working ??= renew()
            .catch((error: unknown) => log.warn({ err: error }, 'the indexes cannot be published'))
            .finally(() => {
              working = undefined;
            });
        }, config.INDEX_PUBLISH_SCAN_INTERVAL_SECONDS * 1000);
        timer.unref();
      },
      async stop() {
        clearInterval(timer);
        await working;
      },
    };
  };
}
