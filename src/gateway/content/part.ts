/** The content side as a part of the gateway. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { HttpClient } from '../../outside/http.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { BlobCache } from '../../storage/blobs/cache/cache.ts';
import { openBlobCache, openBlobStore } from '../../storage/blobs/open.ts';
import { ChunkSource } from '../chain/chunk-source.ts';
import type { CreatePart, GatewayContext } from '../context.ts';
import { CacheControl } from './answer/cache-control.ts';
import { ReadyAnswers } from './answer/ready.ts';
import { apexOf } from './apex.ts';
import { nothingBlocked } from './blocklist.ts';
import { Content } from './content.ts';
import { Manifests } from './manifests.ts';
import { createContentMetrics } from './metrics.ts';
import { namesOfGateway } from './names/gateway-names.ts';
import { NameResolver, type NameSource } from './names/resolver.ts';
import { apexHandler, contentRoutes } from './routes.ts';
import type { ServeParts } from './serve.ts';
import { SharedCopies } from './shared/shared-copies.ts';
import { sharedContent } from './shared/source.ts';
import { chunkContent } from './sources/chunks.ts';
import { otherGateways } from './sources/gateways.ts';
import { parentBundle } from './sources/parent-bundle.ts';
import { type ContentSource, ownJourney } from './sources/source.ts';
import { uploadedItems } from './sources/upload.ts';

export interface ContentPartDeps {
  /** The bounded cache on disk; see `openContentCache`. */
  readonly cache: BlobCache;
  /** Where gateways that share a database keep content together; see `openSharedStore`. */
  readonly shared?: BlobStore | undefined;
  /** The upload surface whose items are served before they are mined. */
  readonly uploadUrl: () => string | undefined;
  /** Further places to look, before other gateways are asked. */
  readonly sources?: (context: GatewayContext) => readonly ContentSource[];
  /** Who knows names, before trusted gateways are asked. */
  readonly names: readonly NameSource[];
}

export function openContentCache(config: {
  readonly DATA_DIR: string;
  readonly CONTIGUOUS_DATA_CACHE_MAX_BYTES: number;
}): Promise<BlobCache> {
  return openBlobCache({
    folder: join(config.DATA_DIR, 'gateway-cache'),
    maxBytes: config.CONTIGUOUS_DATA_CACHE_MAX_BYTES,
  });
}

/** A place of its own in the store that is configured for all; undefined where each process has only its folder. */
export async function openSharedStore(config: {
  readonly DATA_DIR: string;
  readonly BLOB_STORE_URL: string | undefined;
  readonly SHARED_DATA_CACHE_MAX_BYTES: number;
}): Promise<BlobStore | undefined> {
  if (config.BLOB_STORE_URL === undefined || config.SHARED_DATA_CACHE_MAX_BYTES === 0) return undefined;
  const url = new URL(config.BLOB_STORE_URL);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/gateway-content`;
  return await openBlobStore({ blobStoreUrl: url.href, dataDir: config.DATA_DIR });
}

export function createContentPart(deps: ContentPartDeps): CreatePart {
  return (context) => {
    const { config, index, chunks, log } = context;
    const { apexId, apexName } = apexOf(config);
    const metrics = createContentMetrics(context.metrics);
    context.metrics.gauge(
      'cache_size_bytes',
      'Bytes in the content cache',
      [],
      () => deps.cache.statistics().bytes,
    );
    context.metrics.gauge(
      'cache_objects_total',
      'Files in the content cache',
      [],
      () => deps.cache.statistics().entries,
    );
    const upload = uploadedItems(deps.uploadUrl);
    const rootHosts = config.ARNS_ROOT_HOST.map((host) => host.toLowerCase()).sort(
      (a, b) => b.length - a.length,
    );
    const identity = identityOf(rootHosts[0]);
    const client = new HttpClient({ timeoutMs: 10_000, maxBytes: 64 * 1024, connections: 64 });
    const gateways = otherGateways({ urls: config.TRUSTED_GATEWAYS_URLS, identity, client });
    const copies =
      deps.shared === undefined
        ? undefined
        : new SharedCopies({
            sql: index.sql,
            store: deps.shared,
            maxBytes: config.SHARED_DATA_CACHE_MAX_BYTES,
            log,
            failed: () => metrics.sharedFailures.inc(),
          });
    const content = new Content({
      index,
      cache: deps.cache,
      sources: [
        parentBundle(index, deps.cache),
        ...(copies === undefined ? [] : sharedContent(index, copies)),
        upload,
        chunkContent(new ChunkSource(index, chunks)),
        ...(deps.sources?.(context) ?? []),
        ...gateways.sources,
      ],
      metrics,
      log,
      makeKnown: async (id) => context.writers?.queueTransaction(id, 'lookup'),
      ...(copies !== undefined && {
        share: (copy) => copies.keep(copy),
        unshare: (digest) => copies.drop(digest),
      }),
      maxCachedBytes: Math.floor(config.CONTIGUOUS_DATA_CACHE_MAX_BYTES / 2),
    });
    const names = new NameResolver({
      sources: [
        ...deps.names,
        ...config.TRUSTED_GATEWAYS_URLS.map((url) => namesOfGateway(url, identity, client)),
      ],
      log,
      overrideTtlSeconds: config.ARNS_RESOLVER_OVERRIDE_TTL_SECONDS,
      staleWaitMs: config.ARNS_CACHED_RESOLUTION_FALLBACK_TIMEOUT_MS,
      onHit: () => metrics.nameHits.inc(),
      onMiss: () => metrics.nameMisses.inc(),
    });
    const parts: ServeParts = {
      content,
      index,
      cacheControl: new CacheControl(config),
      metrics,
      ready: new ReadyAnswers(content),
      manifests: new Manifests(content),
      names,
      blocklist: () => context.blocklist ?? nothingBlocked,
      meter: () => context.meter,
      enforceUndernameLimit: config.ARNS_RESOLVER_ENFORCE_UNDERNAME_LIMIT,
    };
    // Background work reads through the cache too.
    context.bytes = content;
    context.dropCopies = async (hashes) => {
      parts.ready.clear();
      for (const hash of hashes) await content.cached.drop(hash);
    };
    context.contentHash = (id) => content.hashOf(id, ownJourney);
    context.peers = gateways.peers;
    context.apex = apexHandler(parts, { apexId, apexName });
    return {
      name: 'content',
      routes: (app) =>
        contentRoutes(app, parts, {
          rootHosts,
          sandbox: config.SANDBOX_ENABLED,
          sandboxProtocol: config.SANDBOX_PROTOCOL,
          apexId,
          apexName,
          notFoundPage: { id: config.ARNS_NOT_FOUND_TX_ID },
          aliasPrefixes: config.GW_ALIAS_PREFIXES,
        }),
      async stop() {
        // Reads that nobody waits for any more end with the gateway.
        await Promise.all([upload.close(), client.close()]);
        await copies?.close();
        await deps.cache.close();
      },
    };
  };
}

/** Two gateways must not take each other for themselves: where no host tells them apart, chance does. */
function identityOf(rootHost: string | undefined): string {
  return rootHost === undefined || rootHost === 'localhost'
    ? `turnpike-${randomBytes(8).toString('hex')}`
    : rootHost;
}
