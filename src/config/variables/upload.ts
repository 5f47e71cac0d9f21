import { integer, json, list, milliseconds } from '../kinds.ts';

const gibibyte = 1024 ** 3;
const day = 86_400;
const mostGateways = 20;

/** A gateway that is told of new items, beside the one of this service. */
export interface AnnounceGateway {
  readonly url: string;
  /** What its admin routes want: the key itself, or the file that holds it. */
  readonly key?: string;
  readonly keyFile?: string;
  /** As readers know it, where that is another than the one of `url`. */
  readonly host?: string;
  /** False: it indexes what it is told of, and does not serve the bytes before they are mined. */
  readonly data?: boolean;
}

function readGateways(value: unknown): readonly AnnounceGateway[] {
  if (!Array.isArray(value)) throw new Error('must be a JSON list');
  if (value.length > mostGateways) throw new Error(`must list at most ${mostGateways} gateways`);
  const gateways = value.map(readGateway);
  const urls = new Set(gateways.map(({ url }) => url));
  if (urls.size < gateways.length) throw new Error('must list each gateway once');
  return gateways;
}

function readGateway(value: unknown): AnnounceGateway {
  const { url, key, keyFile, host, data, ...others }: Record<string, unknown> = Object(value);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error('must list gateways with url, key or keyFile, host and data only');
  if (typeof url !== 'string' || !/^https?:\/\/[^/]/.test(url) || !URL.canParse(url)) {
    throw new Error('must give each gateway a url that begins with http:// or https://');
  }
  const given = key ?? keyFile;
  if (typeof given !== 'string' || given === '' || (key !== undefined && keyFile !== undefined)) {
    throw new Error('must give each gateway either a key or a keyFile');
  }
  if (host !== undefined && (typeof host !== 'string' || !/^[\w.-]+(:\d+)?$/.test(host))) {
    throw new Error('must give as host a host name');
  }
  if (data !== undefined && typeof data !== 'boolean') throw new Error('must give as data true or false');
  return {
    url: url.replace(/\/+$/, ''),
    ...(key === undefined ? { keyFile: given } : { key: given }),
    ...(host !== undefined && { host }),
    ...(data !== undefined && { data }),
  };
}

/** What the upload surface takes, for how much, and how it brings it to the chain. */
export const upload = {
  MAX_DATA_ITEM_SIZE: integer({
    meaning: 'Largest data item that is taken, in bytes, header and all',
    default: 4 * gibibyte,
    min: 1,
  }),
  FREE_UPLOAD_LIMIT: integer({
    meaning: 'Items up to this many bytes cost nothing; 0 = nothing is free',
    default: 0,
  }),
  FREE_BYTES_PER_IP: integer({
    meaning: 'Free bytes that one network address may upload per FREE_BYTES_PER_IP_TTL_SECS',
    default: 5 * gibibyte,
  }),
  FREE_BYTES_PER_IP_TTL_SECS: integer({
    meaning: 'Length of that window in seconds',
    default: 86_400,
    min: 1,
  }),
  TRUSTED_PROXY_COUNT: integer({
    meaning: 'Proxies of ours in front: the client is that many entries from the right of X-Forwarded-For',
    default: 0,
    max: 16,
  }),
  ALLOW_LISTED_ADDRESSES: list({ meaning: 'Wallets whose uploads cost nothing', default: [] }),
  BLOCK_LISTED_ADDRESSES: list({ meaning: 'Wallets whose uploads are refused', default: [] }),
  MULTIPART_EXPIRY_SECS: integer({
    meaning: 'A multipart upload that is not finished after this is removed',
    default: 86_400,
    min: 1,
  }),
  MULTIPART_MAX_OPEN_PER_IP: integer({
    meaning: 'Unfinished multipart uploads that one network address may have',
    default: 256,
    min: 1,
  }),
  MULTIPART_MAX_BYTES_PER_IP: integer({
    meaning:
      'Bytes that the unfinished multipart uploads of one network address may have together, those arriving included; without it four times MAX_DATA_ITEM_SIZE. What was paid for when it began does not count',
    default: undefined,
    min: 1,
  }),
  MIN_FREE_DISK_BYTES: integer({
    meaning:
      'Free bytes on the disk of DATA_DIR, and of the blobs where they are files, below which nothing is uploaded (507); 0 = no floor',
    default: gibibyte,
  }),
  BUNDLE_MAX_ITEMS: integer({ meaning: 'Data items in one bundle at most', default: 10_000, min: 1 }),
  BUNDLE_TARGET_BYTES: integer({
    meaning: 'A bundle is closed when it would grow beyond this; a larger item has a bundle of its own',
    default: 2 * gibibyte,
    min: 1,
  }),
  BUNDLE_MAX_WAIT_MS: milliseconds({
    meaning: 'A bundle that is not full is closed when its oldest item has waited this long',
    default: 30_000,
  }),
  BUNDLE_CONFIRMATIONS: integer({
    meaning: 'Confirmations after which a bundle counts as permanent; 0 = 18, or 1 in the world `local`',
    default: 0,
  }),
  BUNDLE_POLL_MS: milliseconds({
    meaning: 'How often the bundler looks for work and asks the chain how its bundles fare',
    default: 2_000,
    min: 10,
  }),
  BUNDLE_CONCURRENCY: integer({
    meaning: 'Bundles that one process prepares, posts and seeds at the same time',
    default: 4,
    min: 1,
    max: 64,
  }),
  BUNDLE_CHUNK_CONCURRENCY: integer({
    meaning: 'Chunks that one process posts at the same time',
    default: 8,
    min: 1,
    max: 256,
  }),
  UPLOAD_RETENTION_SECS: integer({
    meaning: 'How long the local copy of an item is kept after it is permanent',
    default: 604_800,
  }),
  BUNDLE_WATCH_SECS: integer({
    meaning:
      'How long a bundle is looked at again after it is permanent, and mended where chunks of it are gone; 0 = never',
    default: 365 * day,
  }),
  BUNDLE_WATCH_FIRST_SECS: integer({
    meaning:
      'When a permanent bundle is first looked at again; the times between two looks double from there',
    default: day,
    min: 1,
  }),
  BUNDLE_WATCH_LONGEST_SECS: integer({
    meaning: 'Longest time between two looks at a permanent bundle',
    default: 30 * day,
    min: 1,
  }),
  BUNDLE_WATCH_CHUNKS: integer({
    meaning: 'Chunks of a bundle that are read back at each look, beside its last: chosen anew each time',
    default: 8,
    min: 1,
    max: 1_000,
  }),
  BUNDLE_WATCH_PER_HOUR: integer({
    meaning: 'Looks at permanent bundles per hour at most',
    default: 600,
    min: 1,
    max: 3_600_000,
  }),
  ANNOUNCE_GATEWAYS: json<readonly AnnounceGateway[]>({
    meaning:
      'Gateways that are told of new items, beside the one of this service, as a list of `{"url", "key" or "keyFile", "host", "data"}`: its admin key or the file of it, the host that receipts name where it is not that of the url, and `"data": false` for one that does not serve the bytes before they are mined',
    default: [],
    check: readGateways,
    secrets: ['key'],
  }),
  ANNOUNCE_MAX_WAITING: integer({
    meaning:
      'Items that wait for one gateway at most; beyond it the oldest are not announced to it, and it finds them on the chain',
    default: 100_000,
    min: 1,
  }),
};
