/** The content side as a part of the gateway. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { NameChanges } from '../../delivery/name-changes.ts';
import type { ForkedChain } from '../../fork/chain.ts';
import type { Job } from '../../kernel/background/job.ts';
import type { AnswerFirst } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import { HttpClient } from '../../outside/http.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { BlobCache } from '../../storage/blobs/cache/cache.ts';
import { leftoversJobs } from '../../storage/blobs/leftovers-job.ts';
import { openBlobCache, openBlobStore } from '../../storage/blobs/open.ts';
import { Scrub, type ScrubMetrics } from '../../storage/scrub.ts';
import type { ByteSource } from '../chain/byte-source.ts';
import { ChunkSource } from '../chain/chunk-source.ts';
import type { Chunks } from '../chain/chunks.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { Meter } from '../meter.ts';
import { CacheControl } from './answer/cache-control.ts';
import { ReadyAnswers } from './answer/ready.ts';
import { apexOf } from './apex.ts';
import type { Blocklist } from './blocklist.ts';
import { Content } from './content.ts';
import { Manifests } from './manifests.ts';
import { createContentMetrics } from './metrics.ts';
import { NameResolver, type NameSource } from './names/resolver.ts';
import { namesOfFork, namesOfGateway } from './names/sources.ts';
import { apexHandler, contentRoutes } from './routes.ts';
import { type ServeParts, serveAgain } from './serve.ts';
import { SharedCopies } from './shared/shared-copies.ts';
import { chunkContent, parentBundle, sharedContent } from './sources/copies.ts';
import { forkedContent } from './sources/fork.ts';
import { otherGateways, type PeerGateway } from './sources/gateways.ts';
import { type ContentSource, ownJourney } from './sources/source.ts';
import { uploadedItems } from './sources/upload.ts';

/** What is damaged can be fetched again: it is enough to look once a day. */
const scrubEveryMs = 24 * 60 * 60 * 1_000;

export interface ContentDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly index: SqlGatewayIndex;
  readonly chunks: Chunks;
  /** The bounded cache on disk; see `openContentCache`. It is closed with the content. */
  readonly cache: BlobCache;
  readonly scrubs: ScrubMetrics;
  /** Where gateways that share a database keep content together; see `openSharedStore`. */
  readonly shared?: BlobStore | undefined;
  /** The upload surface whose items are served before they are mined; empty until it answers, undefined: there is none. */
  readonly uploadUrl: () => string | undefined;
  /** Further places to look, before other gateways are asked. */
  readonly sources: readonly ContentSource[];
  /** Who knows names, before trusted gateways are asked. */
  readonly names: readonly NameSource[];
  /** What this network does not have is read from there, last of all. */
  readonly fork?: ForkedChain | undefined;
  /** Other processes share the database. */
  readonly isShared: boolean;
  /** Indexes a transaction that the index does not have, where the chain has it. */
  makeKnown(id: string): Promise<unknown>;
}

/** Content as background work and the operator use it; what is served of it is `createContentPart`. */
export interface GatewayContent {
  readonly bytes: ByteSource;
  /** Removes the copies of content with those hashes (base64url), and answers that were kept ready. */
  dropCopies(hashes: Iterable<string>): Promise<void>;
  /** Base64url SHA-256 of content that nobody has hashed yet: it is read to its end. undefined where there is none. */
  contentHash(id: string): Promise<string | undefined>;
  /** Keeps data that came with a transaction, for those who ask for it before there is a block. */
  keepInline(id: string, data: Buffer): Promise<void>;
  /** Gateways that this one asks. */
  peers(): readonly PeerGateway[];
  /** Names that were changed, by who changed them. */
  readonly nameChanges: NameChanges;
  /** Reads what is cached again and again. */
  readonly scrub: Scrub;
  /** Look after what gateways share. */
  readonly sharedJobs: readonly Job[];
  readonly serving: Omit<ServeParts, 'blocklist' | 'meter'>;
  close(): Promise<void>;
}

export function openContentCache(
  config: Pick<Config, 'DATA_DIR' | 'CONTIGUOUS_DATA_CACHE_MAX_BYTES'>,
): Promise<BlobCache> {
  return openBlobCache({
    folder: cacheFolder(config),
    maxBytes: config.CONTIGUOUS_DATA_CACHE_MAX_BYTES,
  });
}

function cacheFolder({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string {
  return join(DATA_DIR, 'gateway-cache');
}

/** A place of its own in the store that is configured for all; undefined where each process has only its folder. */
export async function openSharedStore(
  config: Pick<Config, 'DATA_DIR' | 'BLOB_STORE_URL' | 'SHARED_DATA_CACHE_MAX_BYTES'>,
): Promise<BlobStore | undefined> {
  if (config.BLOB_STORE_URL === undefined || config.SHARED_DATA_CACHE_MAX_BYTES === 0) return undefined;
  const url = new URL(config.BLOB_STORE_URL);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/gateway-content`;
  return await openBlobStore({ blobStoreUrl: url.href, dataDir: config.DATA_DIR });
}

export function createContent(deps: ContentDeps): GatewayContent {
  const { config, index, chunks, log } = deps;
  const metrics = createContentMetrics(deps.metrics);
  const kept = () => deps.cache.statistics();
  deps.metrics.shareGauge('cache_size_bytes', 'Bytes in the content cache', () => kept().bytes);
  deps.metrics.shareGauge('cache_objects', 'Files in the content cache', () => kept().entries);
  // What dashboards of public gateways ask for, whose name is that of a counter.
  deps.metrics.shareGauge('cache_objects_total', 'The same as cache_objects', () => kept().entries);
  const upload = uploadedItems(deps.uploadUrl);
  const identity = identityOf(rootHostsOf(config)[0]);
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
      ...deps.sources,
      ...gateways.sources,
      ...(deps.fork === undefined ? [] : [forkedContent(deps.fork)]),
    ],
    metrics,
    log,
    makeKnown: (id) => deps.makeKnown(id),
    ...(copies !== undefined && {
      share: (copy) => copies.keep(copy),
      unshare: (digest) => copies.drop(digest),
    }),
    maxCachedBytes: Math.floor(config.CONTIGUOUS_DATA_CACHE_MAX_BYTES / 2),
  });
  deps.cache.onDamaged((digest) => {
    metrics.cacheCorruption.inc();
    log.warn({ digest }, 'a cached file was damaged: it was removed');
    const hash = Buffer.from(digest, 'hex').toString('base64url');
    const fetching = content.fetchAgain(hash);
    fetching.catch((error: unknown) => log.debug({ digest, err: error }, 'it could not be fetched again'));
  });
  const names = new NameResolver({
    sources: [
      ...deps.names,
      ...config.TRUSTED_GATEWAYS_URLS.map((url) => namesOfGateway(url, identity, client)),
      ...(deps.fork?.names === undefined ? [] : [namesOfFork(deps.fork.names, deps.fork.shown)]),
    ],
    log,
    overrideTtlSeconds: config.ARNS_RESOLVER_OVERRIDE_TTL_SECONDS,
    staleWaitMs: config.ARNS_CACHED_RESOLUTION_FALLBACK_TIMEOUT_MS,
    onHit: () => metrics.nameHits.inc(),
    onMiss: () => metrics.nameMisses.inc(),
  });
  const ready = new ReadyAnswers(content);
  return {
    bytes: content,
    async dropCopies(hashes) {
      ready.clear();
      for (const hash of hashes) await content.cached.drop(hash);
    },
    contentHash: (id) => content.hashOf(id, ownJourney),
    keepInline: (id, data) => content.keepInline(id, data),
    peers: gateways.peers,
    nameChanges: new NameChanges({ sql: index.sql, log, names, isShared: deps.isShared }),
    scrub: new Scrub({
      store: 'content cache',
      files: deps.cache.scrubbed,
      stateFile: join(cacheFolder(config), 'scrub.json'),
      percent: config.SCRUB_PERCENT,
      everyMs: scrubEveryMs,
      metrics: deps.scrubs,
      log,
    }),
    sharedJobs: deps.shared === undefined ? [] : leftoversJobs(deps.shared, log),
    serving: {
      content,
      index,
      cacheControl: new CacheControl(config),
      metrics,
      ready,
      manifests: new Manifests(content),
      names,
      enforceUndernameLimit: config.ARNS_RESOLVER_ENFORCE_UNDERNAME_LIMIT,
    },
    async close() {
      // Reads that nobody waits for any more end with the gateway.
      await Promise.all([upload.close(), client.close()]);
      await copies?.close();
      await deps.cache.close();
    },
  };
}

export interface ContentPartDeps {
  readonly config: Config;
  readonly content: GatewayContent;
  readonly blocklist: Blocklist;
  readonly meter: Meter;
}

export interface ContentPart extends Part {
  /** Answers `GET /` where an apex is configured. */
  readonly apex: ReturnType<typeof apexHandler>;
  /** Answers again what was answered before. */
  readonly answerFirst: AnswerFirst;
}

export function createContentPart({ config, content, blocklist, meter }: ContentPartDeps): ContentPart {
  const { apexId, apexName } = apexOf(config);
  const parts: ServeParts = { ...content.serving, blocklist, meter };
  return {
    name: 'content',
    jobs: [content.scrub, ...content.sharedJobs, ...content.nameChanges.jobs],
    apex: apexHandler(parts, { apexId, apexName }),
    answerFirst: serveAgain(parts),
    routes: (app) =>
      contentRoutes(app, parts, {
        rootHosts: rootHostsOf(config),
        sandbox: config.SANDBOX_ENABLED,
        sandboxProtocol: config.SANDBOX_PROTOCOL,
        isolate: config.ISOLATE_ACTIVE_CONTENT,
        apexId,
        apexName,
        notFoundId: config.ARNS_NOT_FOUND_TX_ID,
        aliasPrefixes: config.GW_ALIAS_PREFIXES,
      }),
    stop: () => content.close(),
  };
}

/** Lower case, longest first. */
function rootHostsOf(config: Config): string[] {
  return config.ARNS_ROOT_HOST.map((host) => host.toLowerCase()).sort((a, b) => b.length - a.length);
}

/** Two gateways must not take each other for themselves: where no host tells them apart, chance does. */
function identityOf(rootHost: string | undefined): string {
  return rootHost === undefined || rootHost === 'localhost'
    ? `turnpike-${randomBytes(8).toString('hex')}`
    : rootHost;
}
