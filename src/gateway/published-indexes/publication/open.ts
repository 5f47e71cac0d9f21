/** The publisher that the configuration describes. */

import type { Config } from '../../../config/config.ts';
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import { StartupError } from '../../../kernel/errors.ts';
import { seedHost, showPeerAddress } from '../swarm/addresses.ts';
import type { Observer } from './observer.ts';
import { Publisher, type PublisherOptions } from './publisher.ts';
import type { TorrentPlaces } from './torrents.ts';

export { type Observer, readObserver } from './observer.ts';

export function publisherOf(
  config: Config,
  observer: Observer,
  rest: Pick<PublisherOptions, 'onProgress'> = {},
): Publisher {
  const wallet = config.INDEX_PUBLISHER_WALLET;
  if (wallet !== undefined && tryDecodeBase58(wallet)?.length !== 32)
    throw new StartupError('INDEX_PUBLISHER_WALLET must be base58 of 32 bytes');
  return new Publisher({
    dataDir: config.DATA_DIR,
    observer,
    publisher: wallet,
    ttlSeconds: config.INDEX_PUBLISH_TTL_SECONDS,
    filter: JSON.parse(config.ANS104_UNBUNDLE_FILTER),
    torrents: config.INDEX_TORRENTS ? torrentPlaces(config) : undefined,
    ...rest,
  });
}

/** A seeder at any free port is found through the tracker alone. */
function torrentPlaces(config: Config): TorrentPlaces {
  const publicUrl = config.INDEX_PUBLIC_URL ?? `http://${config.HOST}:${config.GATEWAY_PORT}`;
  const host = seedHost(config);
  return {
    trackers: [`${publicUrl}/gw/indexes/announce`],
    webSeeds: [`${publicUrl}/gw/indexes/webseed/`],
    peers:
      host === undefined || config.INDEX_SEED_PORT === 0
        ? []
        : [showPeerAddress({ host, port: config.INDEX_SEED_PORT })],
  };
}
