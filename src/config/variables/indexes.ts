import { boolean, integer, json, text, url } from '../kinds.ts';

/** Published indexes: what this gateway publishes of its own, and whose it uses. */
export const indexes = {
  INDEX_BAND_HEIGHTS: integer({
    meaning: 'Heights that one closed band of the published index covers',
    default: 50_000,
    min: 1,
  }),
  INDEX_PUBLISHER_WALLET: text({
    meaning:
      'Registered wallet of the gateway (base58) named in publications; without it the observer key itself',
    default: undefined,
  }),
  INDEX_PUBLISH_TTL_SECONDS: integer({
    meaning: 'Life of a publication; it is signed anew at half of it',
    default: 86_400,
    min: 60,
  }),
  INDEX_PUBLISH_SCAN_INTERVAL_SECONDS: integer({
    meaning: 'How often a gateway that publishes looks whether to publish anew',
    default: 60,
    min: 1,
    max: 86_400,
  }),
  INDEX_BUILD_INTERVAL_SECONDS: integer({
    meaning: 'How often a gateway that publishes builds its index anew; 0 = only by `turnpike index build`',
    default: 0,
    max: 31_536_000,
  }),
  INDEX_TORRENTS: boolean({
    meaning: 'Whether bands are offered as torrents too, with this gateway as their web seed',
    default: true,
  }),
  INDEX_TORRENT_COMMAND: text({
    meaning:
      'BitTorrent program that gives the published torrents to peers, run once for each: words separated by spaces, with {torrent}, {folder} and {pid} for the torrent file, the folder of its files and the process of the gateway',
    default: undefined,
  }),
  INDEX_PUBLIC_URL: url({
    meaning: 'Address of the gateway for the web seeds of its torrents; without it HOST and GATEWAY_PORT',
    default: undefined,
  }),
  INDEX_SUBSCRIBE: json<unknown>({
    meaning:
      'Gateways whose published indexes are used: a list of {publisher, url, key?, names?}; key is the observer key where it is not the publisher itself',
    default: [],
  }),
  INDEX_POLL_INTERVAL_SECONDS: integer({
    meaning: 'How often subscribed publications are looked at',
    default: 300,
    min: 1,
    max: 86_400,
  }),
  INDEX_DOWNLOAD_CONCURRENCY: integer({
    meaning: 'Files of one publisher that are downloaded at the same time',
    default: 4,
    min: 1,
    max: 32,
  }),
  INDEX_MAX_DISK_BYTES: integer({
    meaning: 'Disk that the indexes of others may use; without it no limit',
    default: undefined,
  }),
};

/** Served the BitTorrent peers that the gateway once had of its own. */
export const retiredIndexVariables = [
  'INDEX_SEED_PORT',
  'INDEX_SEED_HOST',
  'INDEX_SEED_CONNECTIONS',
  'INDEX_SEED_BYTES_PER_SECOND',
  'INDEX_DOWNLOAD_BY',
  'INDEX_TORRENT_PEERS',
  'INDEX_WEBSEED_AFTER_SECONDS',
  'INDEX_TORRENT_TIMEOUT_SECONDS',
  'INDEX_PRIVATE_PEERS',
];
