/** Content as a part: what is proven, what is kept of it, and how requests for it are answered. */
import { join } from 'node:path';
import type { Blocklist } from '../../delivery/moderation/blocklist.ts';
import type { Job } from '../../kernel/background/job.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import type { BlobCache } from '../../storage/blobs/cache/cache.ts';
import { openBlobCache } from '../../storage/blobs/open.ts';
import { Scrub, type ScrubMetrics } from '../../storage/scrub.ts';
import type { GatewaysPart } from '../gateways/part.ts';
import type { RouterMetrics } from '../metrics.ts';
import type { NameResolver } from '../names/resolver.ts';
import type { RouterSettings } from '../settings.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { Content } from './content.ts';
import { ContentCache } from './content-cache.ts';
import { Fetch } from './fetch.ts';
import { Manifests } from './manifests.ts';
import { PassThrough } from './pass-through.ts';
import { Placements } from './placements.ts';
import type { ProvenStore } from './proven-store.ts';
import { Refusals } from './refusals.ts';
import { Serve } from './serve.ts';

export interface ContentDeps {
  readonly settings: RouterSettings;
  readonly gateways: GatewaysPart;
  readonly names: NameResolver;
  readonly proven: ProvenStore;
  /** All that is not served. */
  readonly blocklist: Blocklist;
  readonly telemetry: Telemetry | undefined;
  readonly metrics: RouterMetrics;
  readonly scrubs: ScrubMetrics;
  readonly log: Logger;
  /** In place of the folder that is configured. */
  readonly cache?: BlobCache | undefined;
}

export interface ContentPart extends Part {
  readonly content: Content;
  readonly serve: Serve;
  readonly refusals: Refusals;
  /** What is kept on disk; undefined where nothing is. */
  readonly disk: BlobCache | undefined;
  problems(): readonly string[];
}

export async function createContentPart(deps: ContentDeps): Promise<ContentPart> {
  const { settings, names, proven, blocklist, telemetry, metrics, log } = deps;
  const { gateways, asks } = deps.gateways;
  const { config } = settings;
  const disk = deps.cache ?? (await openDisk(settings));
  const cache = new ContentCache({
    disk,
    maxItemBytes: Math.min(config.CONTENT_CACHE_MAX_ITEM_SIZE_BYTES, config.CONTENT_CACHE_MAX_SIZE_BYTES / 2),
    memoryBytes: disk === undefined ? 0 : config.CONTENT_MEMORY_CACHE_BYTES,
    log,
  });
  const passThrough = new PassThrough(asks, config.RETRY_ATTEMPTS);
  const placements = new Placements((id) => passThrough.openWhole(id, 'HEAD', () => false));
  const refusals = new Refusals({ list: blocklist, placements, onBlocked: metrics.blocked });
  const fetch = new Fetch({
    gateways,
    asks,
    proven,
    cache,
    placements,
    quorum: config.VERIFICATION_QUORUM,
    attempts: config.RETRY_ATTEMPTS,
    log,
    verified(gateway, method, ok) {
      metrics.verified(method, ok);
      telemetry?.verification(gateway, ok ? 'success' : 'failed');
    },
  });
  const content = new Content({
    proven,
    cache,
    fetch,
    onLookUp: (hit) => (hit ? metrics.hits : metrics.misses).add(),
  });
  disk?.onDamaged((digest) => {
    metrics.corrupt.add();
    log.warn({ digest }, 'a cached file was damaged: it was removed');
    const fetching = content.fetchAgain(digest);
    fetching.catch((error: unknown) => log.debug({ digest, err: error }, 'it could not be fetched again'));
  });
  const serve = new Serve({
    gateways,
    content,
    passThrough,
    placements,
    manifests: new Manifests(config.MAX_MANIFEST_BYTES),
    names,
    refusals,
    telemetry,
    targetRules: {
      rootContent: settings.rootContent,
      restrictToRoot: config.RESTRICT_TO_ROOT_HOST,
      chainReads: config.ARWEAVE_API_ENABLED,
      isolate: config.ISOLATE_ACTIVE_CONTENT,
    },
    verification: config.VERIFICATION_ENABLED,
    defaultMode: config.DEFAULT_MODE,
    allowModeOverride: config.ALLOW_MODE_OVERRIDE,
    maxManifestBytes: config.MAX_MANIFEST_BYTES,
    stallTimeoutMs: config.STREAM_TIMEOUT_MS,
    onHit: () => metrics.hits.add(),
  });
  return {
    name: 'content',
    content,
    serve,
    refusals,
    disk,
    jobs: disk === undefined ? [] : [scrubOf(disk, deps)],
    problems: () => (cache.isWritable ? [] : ['content cache: cannot be written']),
    async stop() {
      await cache.settled();
      await disk?.close();
    },
  };
}

/** What is damaged can be fetched again: it is enough to look once a day. */
const scrubEveryMs = 24 * 60 * 60 * 1_000;

function scrubOf(disk: BlobCache, { settings, scrubs, log }: ContentDeps): Job {
  return new Scrub({
    store: 'content cache',
    files: disk.scrubbed,
    stateFile: join(settings.cachePath, 'scrub.json'),
    percent: settings.config.SCRUB_PERCENT,
    everyMs: scrubEveryMs,
    metrics: scrubs,
    log,
  });
}

async function openDisk(settings: RouterSettings): Promise<BlobCache | undefined> {
  const { config, cachePath } = settings;
  if (!config.CONTENT_CACHE_ENABLED || !config.VERIFICATION_ENABLED) return undefined;
  return openBlobCache({
    folder: join(cachePath, 'blobs'),
    maxBytes: config.CONTENT_CACHE_MAX_SIZE_BYTES,
    maxBlobBytes: config.CONTENT_CACHE_MAX_ITEM_SIZE_BYTES,
    maxEntries: config.CONTENT_CACHE_MAX_ENTRIES,
  }).catch((error: unknown) => {
    throw new StartupError(`the content cache cannot be opened (CONTENT_CACHE_PATH): ${messageOf(error)}`);
  });
}
