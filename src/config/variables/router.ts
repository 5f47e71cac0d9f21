import { boolean, fraction, integer, list, milliseconds, oneOf, secret, text, url, urls } from '../kinds.ts';

const gibibyte = 1024 ** 3;

/** The content router (interface §4.5). Paths that are not set lie in DATA_DIR. */
export const router = {
  ADMIN_HOST: text({ meaning: "Address that the router's admin page binds", default: '127.0.0.1' }),
  ADMIN_TOKEN: secret({
    meaning: "Token of the router's admin page; without it one is made in DATA_DIR/keys",
  }),
  ADMIN_UI_ENABLED: boolean({ meaning: "Whether the router's admin page is served", default: true }),
  BASE_DOMAIN: text({
    meaning: 'Domain whose subdomains are names and sandboxes of single ids',
    default: 'localhost',
  }),
  ALLOW_UNKNOWN_HOSTS: boolean({
    meaning: 'Whether hosts other than BASE_DOMAIN and addresses are answered as the root host',
    default: false,
  }),
  ROOT_HOST_CONTENT: text({
    meaning: 'Name or id whose content is served at the root host; without it, the router describes itself',
    default: undefined,
  }),
  RESTRICT_TO_ROOT_HOST: boolean({
    meaning: 'Whether only ROOT_HOST_CONTENT is served, at the root host',
    default: false,
  }),
  DEFAULT_MODE: oneOf(['proxy', 'route'], {
    meaning: 'Whether readers get content from the router or are sent on to a gateway',
    default: 'proxy',
  }),
  ALLOW_MODE_OVERRIDE: boolean({
    meaning: 'Whether a reader may choose with ?mode=proxy or ?mode=route',
    default: true,
  }),
  ROUTING_GATEWAY_SOURCE: oneOf(['static', 'trusted-peers', 'network'], {
    meaning: 'Where the list of gateways comes from that content is fetched from',
    default: 'static',
  }),
  ROUTING_STATIC_GATEWAYS: urls({
    meaning:
      'Gateways to fetch from with the source `static`; without any, the gateway of this process, else GATEWAY_URL',
    default: [],
  }),
  ROUTING_STRATEGY: oneOf(['temperature', 'fastest', 'random', 'round-robin'], {
    meaning:
      'How a gateway is chosen: balanced by measured speed and errors, always the quickest, by chance, in turn',
    default: 'temperature',
  }),
  TRUSTED_PEER_GATEWAY: url({
    meaning: 'Gateway whose list of peers the source `trusted-peers` reads',
    default: undefined,
  }),
  NETWORK_REGISTRY_URL: url({
    meaning: 'Gateway registry (JSON) that the source `network` and verification by `top-staked` read',
    default: undefined,
  }),
  NETWORK_GATEWAY_REFRESH_MS: milliseconds({
    meaning: 'How often lists of gateways are read again',
    default: 3_600_000,
    min: 1_000,
  }),
  NETWORK_MIN_GATEWAYS: integer({
    meaning:
      'A list that others write and that names fewer gateways is not believed; what was known is used on',
    default: 1,
    min: 1,
    max: 1_000,
  }),
  NETWORK_FALLBACK_GATEWAYS: urls({
    meaning: 'Gateways to use while a list cannot be read for the first time',
    default: [],
  }),
  RETRY_ATTEMPTS: integer({
    meaning: 'Gateways that one request may try for its content',
    default: 3,
    min: 1,
    max: 10,
  }),
  CIRCUIT_BREAKER_THRESHOLD: integer({
    meaning: 'Failures in a row after which a gateway is left alone',
    default: 3,
    min: 1,
  }),
  CIRCUIT_BREAKER_RESET_MS: milliseconds({
    meaning: 'How long it is left alone before one request probes it',
    default: 60_000,
    min: 100,
  }),
  TEMPERATURE_WINDOW_MS: milliseconds({
    meaning: 'How long what readers measured of a gateway counts; after that its pings do',
    default: 300_000,
    min: 1_000,
  }),
  PING_ENABLED: boolean({ meaning: 'Whether gateways are measured in the background', default: true }),
  PING_INTERVAL_MS: milliseconds({
    meaning: 'How often gateways are measured in the background',
    default: 30_000,
    min: 1_000,
  }),
  PING_TIMEOUT_MS: milliseconds({ meaning: 'How long such a measurement waits', default: 5_000, min: 100 }),
  ARNS_CONSENSUS_THRESHOLD: integer({
    meaning: 'Verification gateways that must agree on what a name points at',
    default: 2,
    min: 1,
    max: 50,
  }),
  ARNS_REQUIRE_UNANIMITY: boolean({
    meaning: 'Whether one verification gateway that says otherwise makes a name unresolvable',
    default: false,
  }),
  ARNS_CACHE_TTL_MS: integer({
    meaning: "Longest time that a name's target is believed without asking again",
    default: 300_000,
  }),
  VERIFICATION_ENABLED: boolean({ meaning: 'Whether content is proven before it counts', default: true }),
  VERIFICATION_GATEWAY_SOURCE: oneOf(['static', 'top-staked'], {
    meaning: 'Where the list of gateways comes from that are asked for hashes and names',
    default: 'static',
  }),
  VERIFICATION_STATIC_GATEWAYS: urls({
    meaning: 'Gateways to ask with the source `static`; without any, ROUTING_STATIC_GATEWAYS',
    default: [],
  }),
  VERIFICATION_GATEWAY_COUNT: integer({
    meaning: 'How many gateways of the registry `top-staked` takes',
    default: 3,
    min: 1,
    max: 50,
  }),
  VERIFICATION_QUORUM: integer({
    meaning: 'Equal hashes from gateways other than the serving one that prove content without its signature',
    default: 2,
    min: 2,
    max: 50,
  }),
  CONTENT_CACHE_ENABLED: boolean({ meaning: 'Whether proven content is kept on disk', default: true }),
  CONTENT_CACHE_PATH: text({
    meaning: 'Folder of the content cache; without it content-cache in DATA_DIR',
    default: undefined,
  }),
  CONTENT_CACHE_MAX_SIZE_BYTES: integer({
    meaning: 'Bytes that the content cache may hold',
    default: 50 * gibibyte,
    min: 1,
  }),
  CONTENT_CACHE_MAX_ITEM_SIZE_BYTES: integer({
    meaning: 'Larger content is served and not kept',
    default: 2 * gibibyte,
    min: 1,
  }),
  CONTENT_CACHE_MAX_ENTRIES: integer({
    meaning: 'Pieces of content that the cache may hold; each takes some 250 bytes of memory',
    default: 4_000_000,
    min: 1,
  }),
  CONTENT_MEMORY_CACHE_BYTES: integer({
    meaning: 'Bytes of small content that are also kept in memory',
    default: 64 * 1024 ** 2,
  }),
  MAX_MANIFEST_BYTES: integer({
    meaning: 'Larger manifests are not resolved by the router',
    default: 32 * 1024 ** 2,
    min: 1_024,
    max: 64 * 1024 ** 2,
  }),
  STREAM_TIMEOUT_MS: milliseconds({
    meaning: 'A gateway or reader that moves no byte for so long is cut off',
    default: 120_000,
    min: 100,
    max: 600_000,
  }),
  HTTP_CONNECT_TIMEOUT_MS: milliseconds({
    meaning: 'How long connecting to a gateway may take',
    default: 5_000,
    min: 100,
  }),
  HTTP_REQUEST_TIMEOUT_MS: milliseconds({
    meaning: 'How long a gateway may take to begin its answer',
    default: 30_000,
    min: 100,
  }),
  HTTP_CONNECTIONS_PER_HOST: integer({
    meaning: 'Connections to one gateway at most',
    default: 64,
    min: 1,
    max: 1_024,
  }),
  MAX_CONCURRENT_REQUESTS: integer({
    meaning: 'Content requests in flight beyond which the router answers 503',
    default: 2_000,
    min: 1,
  }),
  RATE_LIMIT_ENABLED: boolean({ meaning: 'Whether readers are limited', default: false }),
  RATE_LIMIT_WINDOW_MS: milliseconds({
    meaning: 'Time in which RATE_LIMIT_MAX_REQUESTS may be made',
    default: 60_000,
    min: 1_000,
  }),
  RATE_LIMIT_MAX_REQUESTS: integer({
    meaning: 'Requests of one reader in that time',
    default: 1_000,
    min: 1,
  }),
  TELEMETRY_ENABLED: boolean({ meaning: 'Whether figures about gateways are kept', default: true }),
  TELEMETRY_DB_PATH: text({
    meaning: 'Database of those figures; without it telemetry.db in DATA_DIR',
    default: undefined,
  }),
  TELEMETRY_ROUTER_ID: text({
    meaning: 'Name of this router in telemetry exports',
    default: 'turnpike-router',
  }),
  TELEMETRY_SAMPLE_SUCCESS: fraction({
    meaning: 'Fraction of successful requests kept as single events; totals are always exact',
    default: 0.1,
  }),
  TELEMETRY_SAMPLE_ERRORS: fraction({ meaning: 'The same for failed requests', default: 1 }),
  TELEMETRY_RETENTION_DAYS: integer({
    meaning: 'Older figures are removed',
    default: 30,
    min: 1,
    max: 3_650,
  }),
  MODERATION_ENABLED: boolean({ meaning: 'Whether the blocklist and its routes are on', default: true }),
  MODERATION_ADMIN_TOKEN: secret({
    meaning: 'Bearer token of the moderation routes; without it one is made in DATA_DIR/keys',
  }),
  MODERATION_BLOCKLIST_PATH: text({
    meaning: 'The blocklist; without it blocklist.json in DATA_DIR',
    default: undefined,
  }),
  MODERATION_FOLLOW_URL: url({
    meaning:
      'A gateway elsewhere whose blocks the router and the upload service obey; one in the same process they obey anyway',
    default: undefined,
  }),
  MODERATION_FOLLOW_KEY: secret({
    meaning: 'Admin key of that gateway; without it ADMIN_API_KEY',
  }),
  MODERATION_FOLLOW_INTERVAL_MS: milliseconds({
    meaning: 'How often that gateway is asked for changes',
    default: 2_000,
    min: 100,
    max: 3_600_000,
  }),
  ARWEAVE_API_ENABLED: boolean({
    meaning: "Whether the router's root host also answers chain reads, from a gateway",
    default: true,
  }),
  ARWEAVE_READ_NODES: urls({
    meaning: 'Nodes or gateways that chain reads go to; without any, the gateways content comes from',
    default: [],
  }),
  GRAPHQL_PROXY_URL: url({
    meaning: 'Where /graphql on the root host goes; without it, a gateway content comes from',
    default: undefined,
  }),
  ROUTER_ALIAS_PREFIXES: list({
    meaning: 'First path segments under which the routes of /router also answer',
    default: ['wayfinder'],
  }),
};
