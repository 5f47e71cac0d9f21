/**
 * Follows other gateways' publications. A document counts only when the key that the operator named signed it, its
 * sequence does not go back, and it has not expired; a file only when it has the signed digest; a band only when
 * all of it is sound. A band comes into use by one rename, and what it replaces goes only after that: whatever
 * fails, the old bands keep serving.
 */
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { FormatError } from '../../../formats/format-error.ts';
import type { Logger } from '../../../kernel/log.ts';
import { rootIndex } from '../bands/build.ts';
import { manifestName } from '../bands/manifest.ts';
import { folderNames } from '../bands/stored.ts';
import { syncFolder } from '../files.ts';
import type { IndexFolders } from '../folders.ts';
import { maxDocumentBytes, type VerifiedPublication, verifyPublication } from '../publication/document.ts';
import type { Band } from '../publication/read-indexes.ts';
import { checkRootBand } from './check-band.ts';
import { DownloadFailed, fetchFile, VerifyFailed } from './fetch-file.ts';
import { installedName } from './generation.ts';
import { SeenSequences } from './seen.ts';
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
  | 'skipped_disk_budget';

export interface PollReport {
  readonly publisher: string;
  readonly outcome: Outcome;
  readonly installed: readonly string[];
  readonly retired: readonly string[];
  readonly reason?: string;
}

export interface SubscriberOptions {
  readonly folders: IndexFolders;
  readonly log: Logger;
  readonly concurrency: number;
  /** All bands of others together; undefined = no limit. */
  readonly maxDiskBytes: number | undefined;
  /** Called when bands came or went, before files of the gone are removed. */
  readonly changed: () => Promise<void>;
  readonly now?: () => number;
}

const maxJump = 1_000_000;

export class Subscriber {
  readonly #options: SubscriberOptions;
  readonly #dispatcher = new Agent({ connections: 16, connect: { timeout: 10_000 } });
  readonly #stopped = new AbortController();
  readonly #now: () => number;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#dispatcher.close();
  }

  /** Looks once what a publisher offers and brings the installed bands up to date. */
  async poll(subscription: Subscription): Promise<PollReport> {
    const report = { publisher: subscription.publisher, installed: [] as string[], retired: [] as string[] };
    try {
      const publication = await this.#accept(subscription);
      if (typeof publication === 'string') return { ...report, outcome: publication };
      const outcome = await this.#follow(subscription, publication, report);
      return { ...report, outcome };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.log.warn({ err: error, publisher: subscription.publisher }, 'a subscription failed');
      return { ...report, outcome: outcomeOf(error), reason };
    }
  }

  async #accept(subscription: Subscription): Promise<VerifiedPublication | Outcome> {
    const bytes = await this.#fetchDocument(subscription.url);
    const publication = verifyPublication(bytes);
    if (publication.keyId !== subscription.key || publication.publisher !== subscription.publisher)
      return 'signature_failed';
    const seen = await SeenSequences.read(this.#options.folders.subscriptions);
    const last = seen.of(subscription.publisher, subscription.key);
    if (last !== undefined && publication.sequence < last) return 'replayed';
    if (last !== undefined && publication.sequence > last + maxJump) return 'sequence_jump';
    if (Date.parse(publication.expiresAt) <= this.#now()) return 'expired';
    if (publication.sequence !== last)
      await seen.note(subscription.publisher, subscription.key, publication.sequence);
    return publication;
  }

  async #fetchDocument(url: string): Promise<Buffer> {
    const { statusCode, body } = await request(`${url}/gw/indexes`, {
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
      dispatcher: this.#dispatcher,
      signal: this.#stopped.signal,
      headersTimeout: 30_000,
      bodyTimeout: 30_000,
    });
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const piece of body) {
      size += piece.length;
      if (size > maxDocumentBytes) throw new FormatError('the document is too large');
      pieces.push(piece);
    }
    if (statusCode !== 200) throw new DownloadFailed(`${url} answered ${statusCode}`);
    return Buffer.concat(pieces);
  }

  async #follow(
    subscription: Subscription,
    publication: VerifiedPublication,
    report: { installed: string[]; retired: string[] },
  ): Promise<Outcome> {
    const { folders } = this.#options;
    const offered = publication.indexes
      .filter(
        ({ name, kind }) => kind === rootIndex.kind && name === rootIndex.name && wants(subscription, name),
      )
      .flatMap(({ bands }) => bands);
    const target = join(folders.installed, subscription.publisher, rootIndex.name);
    const incoming = join(folders.incoming, subscription.publisher);
    const there = new Set(await folderNames(target));
    let outcome: Outcome = 'unchanged';
    let failed: unknown;
    for (const band of newestFirst(offered)) {
      if (there.has(installedName(band))) continue;
      if (!(await this.#fits(band))) {
        outcome = 'skipped_disk_budget';
        continue;
      }
      try {
        await this.#install(subscription, band, target, incoming);
      } catch (error) {
        // The other bands may be had all the same, unless the publisher asks for a pause.
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
        await this.#retire(join(target, name));
        report.retired.push(name);
      }
      await rm(incoming, { recursive: true, force: true });
    }
    return outcome;
  }

  async #install(subscription: Subscription, band: Band, target: string, incoming: string): Promise<void> {
    const parts = join(incoming, 'parts');
    const whole = join(incoming, installedName(band));
    await rm(whole, { recursive: true, force: true });
    await mkdir(whole, { recursive: true });
    const queue = [...band.files];
    const failed = new AbortController();
    const signal = AbortSignal.any([failed.signal, this.#stopped.signal]);
    const work = async () => {
      for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
        const path = await fetchFile(file, {
          url: subscription.url,
          folder: parts,
          dispatcher: this.#dispatcher,
          signal,
        });
        await rename(path, join(whole, file.name));
      }
    };
    const workers = Array.from({ length: this.#options.concurrency }, () =>
      work().catch((error: unknown) => {
        queue.length = 0;
        failed.abort(error);
        throw error;
      }),
    );
    const [first] = (await Promise.allSettled(workers)).filter((result) => result.status === 'rejected');
    if (first !== undefined) {
      // Whole files are kept for the next attempt.
      for (const { name, sha256 } of band.files)
        await rename(join(whole, name), join(parts, sha256)).catch(() => {});
      throw failed.signal.reason ?? first.reason;
    }
    await checkRootBand(whole, band).catch((error: unknown) => {
      throw error instanceof FormatError ? new VerifyFailed(`${band.id}: ${error.message}`) : error;
    });
    await syncFolder(whole);
    await mkdir(target, { recursive: true });
    await rename(whole, join(target, installedName(band)));
    await syncFolder(target);
  }

  /** Without its manifest a band is not opened again; readers let go of it before its files are removed. */
  async #retire(folder: string): Promise<void> {
    await rm(join(folder, manifestName), { force: true });
    await this.#options.changed();
    await rm(folder, { recursive: true, force: true });
  }

  async #fits(band: Band): Promise<boolean> {
    const { maxDiskBytes, folders } = this.#options;
    if (maxDiskBytes === undefined) return true;
    const size = band.files.reduce((sum, file) => sum + file.size, 0);
    return (await bytesBelow(folders.installed)) + size <= maxDiskBytes;
  }
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
  if (error instanceof VerifyFailed) return 'verify_failed';
  if (error instanceof FormatError) return 'signature_failed';
  if (error instanceof DownloadFailed) return 'download_failed';
  return 'unreachable';
}

async function bytesBelow(folder: string): Promise<number> {
  let sum = 0;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries)
    if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name))).size;
  return sum;
}
