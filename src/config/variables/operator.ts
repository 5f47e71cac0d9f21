import { boolean, integer, list, text } from '../kinds.ts';

/** The operator's side of the gateway: admin routes, export, metering, signatures. */
export const operator = {
  BUNDLE_QUEUE_MAX: integer({
    meaning: 'Bundles that may wait before `queue-bundle` answers 429',
    default: 100_000,
    min: 1,
  }),
  PARQUET_EXPORT_DIR: text({
    meaning:
      'Folder that Parquet exports are written into, and never outside of; DATA_DIR/parquet without it',
    default: undefined,
  }),
  PARQUET_EXPORT_INTERVAL_MINUTES: integer({
    meaning: 'Minutes from one export up to the stable height to the next, by itself; 0: none',
    default: 0,
    max: 525_600,
  }),
  PARQUET_EXPORT_INTERVAL_DIR: text({
    meaning: 'Folder of these exports, inside the export folder',
    default: 'latest',
  }),
  PARQUET_EXPORT_INTERVAL_PARTITION_SIZE: integer({
    meaning: 'Heights of a partition of these exports; a folder keeps the size that it began with',
    default: 1_000,
    min: 100,
    max: 10_000_000,
  }),
  PARQUET_EXPORT_INTERVAL_MAX_FILE_ROWS: integer({
    meaning: 'Rows of a file of these exports; 0: no limit',
    default: 0,
  }),
  ENABLE_RATE_LIMITER: boolean({
    meaning: 'Whether reading is metered: a token per KiB, from a bucket per client and one per resource',
    default: false,
  }),
  RATE_LIMITER_IP_TOKENS_PER_BUCKET: integer({
    meaning: 'Tokens (KiB) that a client may take at once',
    default: 100_000,
    min: 1,
    max: 1_000_000_000_000,
  }),
  RATE_LIMITER_IP_REFILL_PER_SEC: integer({ meaning: 'Tokens that a client gains per second', default: 20 }),
  RATE_LIMITER_RESOURCE_TOKENS_PER_BUCKET: integer({
    meaning: 'Tokens (KiB) that all clients together may take of one resource at once',
    default: 1_000_000,
    min: 1,
    max: 1_000_000_000_000,
  }),
  RATE_LIMITER_RESOURCE_REFILL_PER_SEC: integer({
    meaning: 'Tokens that a resource gains per second',
    default: 100,
  }),
  RATE_LIMITER_MAX_BUCKETS: integer({
    meaning: 'Clients, and resources, that the meter remembers; the least recently used are forgotten',
    default: 100_000,
    min: 100,
    max: 10_000_000,
  }),
  RATE_LIMITER_IPS_AND_CIDRS_ALLOWLIST: list({
    meaning: 'Addresses and networks that are not metered, IPv4 and IPv6',
    default: [],
  }),
  RATE_LIMITER_ARNS_ALLOWLIST: list({
    meaning: 'Names whose content is not metered, with their undernames',
    default: [],
  }),
  TRUSTED_PROXIES: list({
    meaning: 'Addresses and networks of the proxies in front, whose X-Forwarded headers are believed',
    default: [],
  }),
  EGRESS_PAYMENTS: boolean({
    meaning: 'Whether metered clients may pay for more with x402 (402 in place of 429)',
    default: false,
  }),
  EGRESS_USDC_PER_GB: integer({
    meaning: 'Price of 10^9 bytes, in millionths of a dollar',
    default: 100_000,
  }),
  EGRESS_MIN_USDC: integer({
    meaning: 'Smallest payment for reading, in millionths of a dollar',
    default: 1_000,
    min: 1,
  }),
  EGRESS_MAX_USDC: integer({
    meaning: 'Largest payment for one answer, in millionths of a dollar',
    default: 1_000_000,
    min: 1,
  }),
  EGRESS_CAPACITY_MULTIPLIER: integer({
    meaning: 'Tokens that a payment buys for each that it pays for',
    default: 10,
    min: 1,
    max: 1_000,
  }),
  HTTPSIG_ENABLED: boolean({
    meaning:
      'Whether answers about data, names, chunks and indexes are signed (RFC 9421) with the observer key',
    default: false,
  }),
  HTTPSIG_BIND_REQUEST: boolean({
    meaning: 'Whether the signature also covers the method and path that were asked for',
    default: true,
  }),
};
