/**
 * Follows other gateways' publications. A document counts only when the key that the operator named signed it, its
 * sequence does not go back, and it has not expired; a file only when it has the signed digest; a band only when
 * all of it is sound. A band comes into use by one rename, and what it replaces goes only after that: whatever
 * fails, the old bands keep serving. A closed band also stays beside a successor of the same heights that lacks some
 * of its records, unless the publisher says that it is meant so.
 */

import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../../config/config.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { tryParseJson } from '../../../formats/json.ts';
import { messageOf } from '../../../kernel/errors.ts';
import { writeFileDurably } from '../../../kernel/files.ts';
import { publicLookup } from '../../../kernel/http/public-addresses.ts';
import type { Logger } from '../../../kernel/log.ts';
import { HttpClient } from '../../../outside/http.ts';
import { rootIndex } from '../bands/build.ts';
import { type BandFiles, lostKeys } from '../bands/lost-keys.ts';
import {
  type BandManifest,
  heightRangeOf,
  isMeantToHaveFewer,
  manifestName,
  maxManifestBytes,
  parseManifest,
} from '../bands/manifest.ts';
import { folderNames } from '../bands/stored.ts';
import { isDiskError, LockHeld, readBounded, withLock } from '../files.ts';
import { type IndexFolders, indexFolders } from '../folders.ts';
import { type Band, type VerifiedPublication, verifyPublication } from '../publication/document.ts';
import { DownloadFailed, fetchDocument, publisherClient, VerifyFailed } from './download.ts';
import { bytesBelow, bytesOfBand, installedName, tidyIncoming } from './incoming.ts';
import { type ByteOrigin, installBand } from './install-band.ts';
import type { Subscription } from './subscriptions.ts';

export type Outcome =
  | 'installed'
  | 'unchanged'
  | 'unreachable'
  | 'signature_failed'
  | 'replayed'
  | 'sequence_jump'
  | 'expired'
  | 'verify_failed'
  | 'download_failed'
  | 'skipped_disk_budget'
  /** Another process of this gateway has the lock of this publisher. */
  | 'busy'
  /** The own disk is full or broken. */
  | 'error';

export interface PollReport {
  readonly publisher: string;
  readonly outcome: Outcome;
  readonly installed: readonly string[];
  readonly retired: readonly string[];
  /** Bands that are no longer offered and stay, since what took their place has fewer records. */
  readonly kept: readonly string[];
  /** Received for bands, by where they came from. */
  readonly bytes: Record<ByteOrigin, number>;
  readonly reason?: string;
}

export interface SubscriberOptions {
  readonly folders: IndexFolders;
  readonly log: Logger;
  /** Files at a time. */
  readonly concurrency: number;
  /** All bands of others together; undefined = no limit. */
  readonly maxDiskBytes: number | undefined;
  /** Called when bands came or went, before files of the gone are removed. */
  readonly changed: () => Promise<void>;
  readonly received?: (from: ByteOrigin, bytes: number) => void;
  /** Told what a poll has to bring: bytes of all bands that are not there yet. */
  readonly expected?: (bytes: number) => void;
  readonly now?: () => number;
}

const maxJump = 1_000_000;

/** A subscriber as the configuration describes it. */
export function subscriberSettings(
  config: Config,
): Pick<SubscriberOptions, 'folders' | 'concurrency' | 'maxDiskBytes'> {
  return {
    folders: indexFolders(config.DATA_DIR),
    concurrency: config.INDEX_DOWNLOAD_CONCURRENCY,
    maxDiskBytes: config.INDEX_MAX_DISK_BYTES,
  };
}

export class Subscriber {
  readonly #options: SubscriberOptions;
  readonly #http = new HttpClient(publisherClient);
  readonly #publicHttp = new HttpClient({ ...publisherClient, lookup: publicLookup });
  readonly #stopped = new AbortController();
  readonly #now: () => number;
  /** Folders of installed bands that were found damaged. */
  readonly #damaged = new Set<string>();
  /** The last document of each publisher. */
  readonly #documents = new Map<string, { readonly etag: string; readonly bytes: Buffer }>();

  /** Whether a band has records that its successor lacks: files of installed bands do not change. */
  readonly #compared = new LRUCache<string, boolean>({ max: 1_000 });

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await Promise.all([this.#http.close(), this.#publicHttp.close()]);
  }

  /** The band in that folder is damaged: the next look at its publisher brings it again, as far as files are wrong. */
  bringAgain(folder: string): void {
    this.#damaged.add(folder);
  }

  /** Looks once what a publisher offers and brings the installed bands up to date. */
  async poll(subscription: Subscription): Promise<PollReport> {
    const report = {
      publisher: subscription.publisher,
      installed: [] as string[],
      retired: [] as string[],
      kept: [] as string[],
      bytes: { http: 0, webseed: 0 },
    };
    const lock = join(this.#options.folders.incoming, `.${subscription.publisher}.lock`);
    try {
      // One at a time, among all processes: nobody follows an older document than the one installed meanwhile.
      const outcome = await withLock(lock, async () => {
        const publication = await this.#accept(subscription);
        return typeof publication === 'string'
          ? publication
          : await this.#follow(subscription, publication, report);
      });
      return { ...report, outcome };
    } catch (error) {
      const outcome = outcomeOf(error);
      if (outcome !== 'busy')
        this.#options.log.warn({ err: error, publisher: subscription.publisher }, 'a subscription failed');
      return { ...report, outcome, reason: messageOf(error) };
    }
  }

  async #accept(subscription: Subscription): Promise<VerifiedPublication | Outcome> {
    const bytes = await this.#fetchDocument(subscription.url);
    const publication = verifyPublication(bytes);
    if (publication.keyId !== subscription.key || publication.publisher !== subscription.publisher)
      return 'signature_failed';
    const { subscriptions } = this.#options.folders;
    const who = `${subscription.publisher}/${subscription.key}`;
    const last = (await readSeen(subscriptions)).get(who);
    if (last !== undefined && publication.sequence < last) return 'replayed';
    if (last !== undefined && publication.sequence > last + maxJump) return 'sequence_jump';
    if (Date.parse(publication.expiresAt) <= this.#now()) return 'expired';
    if (publication.sequence !== last) await noteSeen(subscriptions, who, publication.sequence);
    return publication;
  }

  /** Asked for by its ETag, so that a publication that did not change costs one small answer. */
  async #fetchDocument(url: string): Promise<Buffer> {
    const known = this.#documents.get(url);
    const fetched = await fetchDocument(this.#http, url, {
      signal: this.#stopped.signal,
      ...(known && { etag: known.etag }),
    });
    if (fetched === undefined) return known?.bytes ?? Buffer.alloc(0);
    const { bytes, etag } = fetched;
    if (etag !== undefined) this.#documents.set(url, { etag, bytes });
    return bytes;
  }

  async #follow(
    subscription: Subscription,
    publication: VerifiedPublication,
    report: Pick<PollReport, 'bytes'> & {
      installed: string[];
      retired: string[];
      kept: string[];
    },
  ): Promise<Outcome> {
    const { folders, concurrency } = this.#options;
    const offered = publication.indexes
      .filter(
        ({ name, kind }) => kind === rootIndex.kind && name === rootIndex.name && wants(subscription, name),
      )
      .flatMap(({ bands }) => bands);
    const target = join(folders.installed, subscription.publisher, rootIndex.name);
    const incoming = join(folders.incoming, subscription.publisher);
    const there = new Set(await wholeBands(target, offered));
    await tidyIncoming(incoming, offered);
    for (const band of offered) {
      const name = installedName(band);
      const folder = join(target, name);
      if (!this.#damaged.delete(folder) || !there.delete(name)) continue;
      // What of it is right is taken up from there. Readers have its files open until it is back.
      await rm(join(incoming, name), { recursive: true, force: true });
      await mkdir(incoming, { recursive: true });
      await rename(folder, join(incoming, name));
    }
    let outcome: Outcome = 'unchanged';
    let failed: unknown;
    const wanting = newestFirst(offered).filter((band) => !there.has(installedName(band)));
    this.#options.expected?.(wanting.reduce((sum, band) => sum + sizeOf(band), 0));
    for (const band of wanting) {
      if (!(await this.#fits(band, incoming))) {
        outcome = 'skipped_disk_budget';
        continue;
      }
      try {
        await installBand(band, {
          url: subscription.url,
          concurrency,
          incoming,
          target,
          http: this.#http,
          publicHttp: this.#publicHttp,
          signal: this.#stopped.signal,
          received: (from, bytes) => {
            report.bytes[from] += bytes;
            this.#options.received?.(from, bytes);
          },
        });
      } catch (error) {
        // The other bands are tried all the same, unless the publisher asks for a pause.
        failed ??= error;
        if (error instanceof DownloadFailed && !error.pause) continue;
        if (error instanceof VerifyFailed) continue;
        break;
      }
      report.installed.push(band.id);
      if (outcome === 'unchanged') outcome = 'installed';
    }
    if (report.installed.length > 0) await this.#options.changed();
    if (failed !== undefined) throw failed;
    if (outcome !== 'skipped_disk_budget') {
      const wanted = new Set(offered.map(installedName));
      for (const name of there) {
        if (wanted.has(name)) continue;
        if (await this.#hasMore(target, name, offered)) {
          report.kept.push(name);
          continue;
        }
        await this.#retire(join(target, name));
        report.retired.push(name);
      }
      await rm(incoming, { recursive: true, force: true });
    }
    return outcome;
  }

  /** Whether an offered band took its place, of the same closed heights, that lacks some of its records. */
  async #hasMore(target: string, name: string, offered: readonly Band[]): Promise<boolean> {
    const before = await readInstalled(target, name);
    if (before === undefined) return false;
    const range = heightRangeOf(before.manifest);
    if (range === undefined || range[1] === null) return false;
    const successors = offered.filter(
      ({ heightRange, metadata }) =>
        heightRange?.[0] === range[0] && heightRange[1] === range[1] && !isMeantToHaveFewer(metadata),
    );
    for (const successor of successors) {
      const pair = `${target} ${name} ${installedName(successor)}`;
      let lacks = this.#compared.get(pair);
      if (lacks === undefined) {
        const after = await readInstalled(target, installedName(successor));
        lacks = after !== undefined && !(await lostKeys(before, after).next()).done;
        this.#compared.set(pair, lacks);
        if (lacks) {
          this.#options.log.warn(
            { band: name, successor: successor.id, heights: range },
            'a band stays in use: the one that took its place has fewer records',
          );
        }
      }
      if (lacks) return true;
    }
    return false;
  }

  /** Without its manifest a band is not opened again; readers close it before its files are removed. */
  async #retire(folder: string): Promise<void> {
    await rm(join(folder, manifestName), { force: true });
    await this.#options.changed();
    await rm(folder, { recursive: true, force: true });
  }

  /** All that is installed and half downloaded counts; of this band its whole size, however much of it is there. */
  async #fits(band: Band, incoming: string): Promise<boolean> {
    const { maxDiskBytes, folders } = this.#options;
    if (maxDiskBytes === undefined) return true;
    const used = (await bytesBelow(folders.installed)) + (await bytesBelow(folders.incoming));
    return used - (await bytesOfBand(band, incoming)) + sizeOf(band) <= maxDiskBytes;
  }
}

/**
 * A folder without a manifest is one whose removal broke off: nobody reads it any more. An offered band that lost a file,
 * or a part of one, is removed here and downloaded again.
 */
async function wholeBands(target: string, offered: readonly Band[]): Promise<string[]> {
  const byName = new Map(offered.map((band) => [installedName(band), band]));
  const names: string[] = [];
  for (const name of await folderNames(target)) {
    const folder = join(target, name);
    const expected = byName.get(name)?.files ?? [];
    const there = new Set(await readdir(folder));
    let isWhole = there.has(manifestName) && expected.every((file) => there.has(file.name));
    for (const file of expected) isWhole &&= (await stat(join(folder, file.name))).size === file.size;
    if (isWhole) names.push(name);
    else await rm(folder, { recursive: true, force: true });
  }
  return names;
}

async function readInstalled(
  target: string,
  name: string,
): Promise<(BandFiles & { readonly manifest: BandManifest }) | undefined> {
  const folder = join(target, name);
  const bytes = await readBounded(join(folder, manifestName), maxManifestBytes);
  if (bytes === undefined) return undefined;
  try {
    const manifest = parseManifest(bytes);
    return { folder, partitions: manifest.partitions, manifest };
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

function sizeOf({ files }: Band): number {
  return files.reduce((sum, file) => sum + file.size, 0);
}

function wants({ names }: Subscription, name: string): boolean {
  return names === undefined || names.includes(name);
}

function newestFirst(bands: readonly Band[]): Band[] {
  const end = ({ heightRange }: Band) =>
    heightRange === undefined ? -1 : (heightRange[1] ?? Number.MAX_SAFE_INTEGER);
  return bands.toSorted((a, b) => end(b) - end(a));
}

function outcomeOf(error: unknown): Outcome {
  if (isDiskError(error)) return 'error';
  if (error instanceof LockHeld) return 'busy';
  if (error instanceof VerifyFailed) return 'verify_failed';
  if (error instanceof FormatError) return 'signature_failed';
  if (error instanceof DownloadFailed) return 'download_failed';
  return 'unreachable';
}

/** The highest sequence seen by publisher and key, so that an older document is never taken for a newer one. */
export async function readSeen(path: string): Promise<Map<string, number>> {
  const bytes = await readBounded(path, 1024 * 1024);
  const seen = new Map<string, number>();
  // Where the file was damaged every publisher counts as new: nobody else could have damaged it.
  for (const [who, sequence] of Object.entries(Object(tryParseJson(bytes?.toString('utf8') ?? '')))) {
    if (typeof sequence === 'number' && Number.isSafeInteger(sequence)) seen.set(who, sequence);
  }
  return seen;
}

/** Written over what is there now: other publishers are followed at the same time, by other processes too. */
export function noteSeen(path: string, who: string, sequence: number): Promise<void> {
  return withLock(`${path}.lock`, async () => {
    const seen = await readSeen(path);
    seen.set(who, Math.max(sequence, seen.get(who) ?? 0));
    await writeFileDurably(path, JSON.stringify(Object.fromEntries(seen)));
  });
}
