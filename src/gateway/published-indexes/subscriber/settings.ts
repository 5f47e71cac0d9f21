/** A subscriber as the configuration describes it. */
import type { Config } from '../../../config/config.ts';
import { indexFolders } from '../folders.ts';
import type { Transport } from './install-band.ts';
import type { SubscriberOptions } from './subscriber.ts';

export function subscriberSettings(
  config: Config,
): Pick<SubscriberOptions, 'folders' | 'transports' | 'swarm' | 'concurrency' | 'maxDiskBytes'> {
  const transports: readonly Transport[] = {
    http: ['http'] as const,
    torrent: ['torrent'] as const,
    'http,torrent': ['http', 'torrent'] as const,
    'torrent,http': ['torrent', 'http'] as const,
  }[config.INDEX_DOWNLOAD_BY];
  return {
    folders: indexFolders(config.DATA_DIR),
    transports,
    swarm: {
      rules: { allowPrivate: config.INDEX_PRIVATE_PEERS },
      maxPeers: config.INDEX_TORRENT_PEERS,
      webSeedAfterMs: config.INDEX_WEBSEED_AFTER_SECONDS * 1000,
      timeoutMs: config.INDEX_TORRENT_TIMEOUT_SECONDS * 1000,
    },
    concurrency: config.INDEX_DOWNLOAD_CONCURRENCY,
    maxDiskBytes: config.INDEX_MAX_DISK_BYTES,
  };
}
