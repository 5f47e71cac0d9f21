import { integer, list, milliseconds } from '../kinds.ts';

const gibibyte = 1024 ** 3;

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
  BUNDLE_CHUNK_CONCURRENCY: integer({
    meaning: 'Chunks that are posted at the same time',
    default: 8,
    min: 1,
    max: 256,
  }),
  UPLOAD_RETENTION_SECS: integer({
    meaning: 'How long the local copy of an item is kept after it is permanent',
    default: 604_800,
  }),
};
