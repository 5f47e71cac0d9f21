import { boolean, integer, json, oneOf, port, text, url } from '../kinds.ts';

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
    meaning: 'Whether bands are offered as torrents too, and given to peers while something is published',
    default: true,
  }),
  INDEX_SEED_PORT: port({ meaning: 'Port at which peers get the published torrents', default: 6881 }),
  INDEX_SEED_HOST: text({
    meaning:
      'Host at which peers reach INDEX_SEED_PORT; without it that of INDEX_PUBLIC_URL, or the address a peer came to',
    default: undefined,
  }),
  INDEX_SEED_CONNECTIONS: integer({
    meaning: 'Peers served at the same time',
    default: 64,
    min: 1,
    max: 4096,
  }),
  INDEX_SEED_BYTES_PER_SECOND: integer({
    meaning: 'Bytes a second that all peers together are given',
    default: 10_000_000,
    min: 16_384,
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
  INDEX_DOWNLOAD_BY: oneOf(['http', 'torrent', 'http,torrent', 'torrent,http'], {
    meaning: 'How bands of others are downloaded; of two ways the second gets what the first did not',
    default: 'http,torrent',
  }),
  INDEX_TORRENT_PEERS: integer({
    meaning: 'Peers that one torrent is downloaded from at the same time',
    default: 20,
    min: 1,
    max: 200,
  }),
  INDEX_WEBSEED_AFTER_SECONDS: integer({
    meaning: 'A torrent uses the web seed of its publisher after so long without a new piece',
    default: 120,
    max: 86_400,
  }),
  INDEX_TORRENT_TIMEOUT_SECONDS: integer({
    meaning: 'A torrent is given up after this time; what came is kept',
    default: 3_600,
    min: 1,
    max: 604_800,
  }),
  INDEX_PRIVATE_PEERS: boolean({
    meaning: 'Whether trackers and peers on loopback and private addresses are used',
    default: false,
  }),
  INDEX_MAX_DISK_BYTES: integer({
    meaning: 'Disk that the indexes of others may use; without it no limit',
    default: undefined,
  }),
};
