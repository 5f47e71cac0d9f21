import { boolean, integer, list, milliseconds, oneOf, text, urls } from '../kinds.ts';

/** How the gateway serves content: its cache, where else it looks, and under which hosts. */
export const content = {
  CONTIGUOUS_DATA_CACHE_MAX_BYTES: integer({
    meaning: 'Disk that the gateway may use for cached content',
    default: 20 * 1024 ** 3,
    min: 1024 * 1024,
  }),
  SHARED_DATA_CACHE_MAX_BYTES: integer({
    meaning:
      'Bytes of content that gateways keep together in BLOB_STORE_URL, so that what one has fetched no other has to; 0 = each keeps its own',
    default: 100 * 1024 ** 3,
  }),
  TRUSTED_GATEWAYS_URLS: urls({
    meaning: 'Gateways that are asked for what neither the cache nor the nodes have, in this order',
    default: [],
  }),
  ARNS_ROOT_HOST: list({
    meaning: 'Hosts below which names and sandboxes live, without port',
    default: ['localhost'],
  }),
  SANDBOX_PROTOCOL: oneOf(['auto', 'http', 'https'], {
    meaning: 'Scheme of redirects to a sandbox; auto = as the request came',
    default: 'auto',
  }),
  SANDBOX_ENABLED: boolean({
    meaning: 'Whether what a browser opens as a page on a root host is sent to an origin of its own',
    default: true,
  }),
  ISOLATE_ACTIVE_CONTENT: boolean({
    meaning:
      'Whether pages that are read at a host that is not their own (a root host, an address, an unlisted host), at gateway and router, run in an origin of nobody’s, without storage and service workers',
    default: true,
  }),
  APEX_TX_ID: text({ meaning: 'Content of `GET /` and the paths below it: an id', default: undefined }),
  APEX_ARNS_NAME: text({ meaning: 'Content of `GET /` and the paths below it: a name', default: undefined }),
  ARNS_NOT_FOUND_TX_ID: text({
    meaning: 'Page shown for a name that nobody has registered; without it a built-in one',
    default: undefined,
  }),
  ARNS_RESOLVER_OVERRIDE_TTL_SECONDS: integer({
    meaning: 'How long resolved names are kept, in place of what records say; 0 = as they say',
    default: 0,
  }),
  ARNS_CACHED_RESOLUTION_FALLBACK_TIMEOUT_MS: milliseconds({
    meaning: 'How long a stale name waits for a fresh answer before it is used',
    default: 250,
  }),
  ARNS_RESOLVER_ENFORCE_UNDERNAME_LIMIT: boolean({
    meaning: 'Whether undernames beyond those paid for are refused',
    default: true,
  }),
  CACHE_PRIVATE_SIZE_THRESHOLD: integer({
    meaning: 'Larger content is marked `private`, so that shared caches do not serve it on',
    default: 104_857_600,
  }),
  CACHE_PRIVATE_CONTENT_TYPES: list({
    meaning: 'Types that are marked `private` too; `image/*` style',
    default: [],
  }),
};
