/**
 * Brings one band of a publisher into use: what earlier attempts left is taken up, the rest is downloaded in the ways
 * and the order that the operator chose, every file is checked by its digest, the band as a whole by its kind, and
 * then one rename installs it.
 */
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dispatcher } from 'undici';
import { FormatError } from '../../../formats/format-error.ts';
import { syncFolder } from '../../../kernel/files.ts';
import { digestFile, isDiskError } from '../files.ts';
import type { Band, BandFile } from '../publication/read-indexes.ts';
import { downloadBand, type SwarmOptions } from '../swarm/index.ts';
import { checkRootBand } from './check-band.ts';
import { DownloadFailed, fetchFile, VerifyFailed } from './fetch-file.ts';
import { installedName } from './generation.ts';
import { swarmFolder } from './incoming.ts';
import type { Slots } from './slots.ts';

export type Transport = 'http' | 'torrent';
/** Where bytes came from. */
export type ByteOrigin = 'http' | 'peers' | 'webseed';

export interface InstallOptions {
  /** The gateway that published it. */
  readonly url: string;
  /** Tried in this order, each for what is still missing. */
  readonly transports: readonly Transport[];
  readonly swarm: SwarmOptions;
  /** Places for torrents; the time limit of one runs from when it has its place. */
  readonly torrents: Slots;
  /** Files at a time by HTTP. */
  readonly concurrency: number;
  readonly incoming: string;
  readonly target: string;
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly received: (from: ByteOrigin, bytes: number) => void;
}

export async function installBand(band: Band, options: InstallOptions): Promise<void> {
  const { incoming, target } = options;
  const whole = join(incoming, installedName(band));
  let missing = await takeUp(band, whole, join(incoming, 'parts'));
  let failure: unknown;
  for (const transport of options.transports) {
    if (missing.length === 0) break;
    try {
      if (transport === 'http') await byHttp(missing, whole, options);
      else await byTorrent(band, missing, whole, options);
    } catch (error) {
      if (isDiskError(error)) throw error;
      options.signal.throwIfAborted();
      failure ??= error;
    }
    missing = await missingOf(band, whole);
  }
  if (missing.length > 0) throw failure ?? new DownloadFailed(`${band.id} cannot be had`);
  await checkRootBand(whole, band).catch(async (error: unknown) => {
    if (!(error instanceof FormatError)) throw error;
    await rm(whole, { recursive: true, force: true });
    throw new VerifyFailed(`${band.id}: ${error.message}`);
  });
  await syncFolder(whole);
  await mkdir(target, { recursive: true });
  await rename(whole, join(target, installedName(band)));
  await syncFolder(target);
}

/** Files of an attempt that broke off count again when their digest is right; answers those that are missing. */
async function takeUp(band: Band, whole: string, parts: string): Promise<BandFile[]> {
  await mkdir(whole, { recursive: true });
  const names = new Set(band.files.map(({ name }) => name));
  for (const name of await readdir(whole))
    if (!names.has(name)) await rm(join(whole, name), { recursive: true, force: true });
  for (const file of band.files) {
    const path = join(whole, file.name);
    if (await isFile(path, file)) continue;
    await rm(path, { recursive: true, force: true });
    if (await isFile(join(parts, file.sha256), file)) await rename(join(parts, file.sha256), path);
  }
  return missingOf(band, whole);
}

async function missingOf({ files }: Band, whole: string): Promise<BandFile[]> {
  const there = new Set(await readdir(whole));
  return files.filter(({ name }) => !there.has(name));
}

async function isFile(path: string, file: BandFile): Promise<boolean> {
  const size = await stat(path).then(
    (found) => found.size,
    () => -1,
  );
  return size === file.size && (await digestFile(path)).sha256 === file.sha256;
}

async function byHttp(files: readonly BandFile[], whole: string, options: InstallOptions): Promise<void> {
  const { url, incoming, dispatcher, concurrency } = options;
  const queue = [...files];
  const failed = new AbortController();
  const signal = AbortSignal.any([failed.signal, options.signal]);
  const received = (bytes: number) => options.received('http', bytes);
  const work = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const path = await fetchFile(file, {
        url,
        folder: join(incoming, 'parts'),
        dispatcher,
        signal,
        received,
      });
      await rename(path, join(whole, file.name));
    }
  };
  const workers = Array.from({ length: concurrency }, () =>
    work().catch((error: unknown) => {
      queue.length = 0;
      failed.abort(error);
      throw error;
    }),
  );
  const [first] = (await Promise.allSettled(workers)).filter((result) => result.status === 'rejected');
  if (first !== undefined) throw failed.signal.reason ?? first.reason;
}

async function byTorrent(
  band: Band,
  files: readonly BandFile[],
  whole: string,
  options: InstallOptions,
): Promise<void> {
  const { torrent } = band;
  if (torrent === undefined) throw new DownloadFailed(`${band.id} is not offered as a torrent`);
  const folder = join(options.incoming, swarmFolder(torrent));
  const wanted = new Set(files.map(({ name }) => name));
  const { url, dispatcher, signal, received } = options;
  const failure = await options.torrents
    .use(() =>
      downloadBand({ ...options.swarm, url, band, torrent, wanted, folder, dispatcher, signal, received }),
    )
    .then(
      () => undefined,
      (error: unknown) => error ?? new Error('the torrent failed'),
    );
  for (const file of files) {
    const path = join(folder, file.name);
    if (await isFile(path, file)) await rename(path, join(whole, file.name));
    else if (failure === undefined) {
      // The pieces are those of the signed torrent, the file is not the signed file: the publisher contradicts itself.
      await rm(folder, { recursive: true, force: true });
      throw new VerifyFailed(`${file.name} of the torrent is not the file that was signed`);
    }
  }
  if (failure !== undefined) {
    if (isDiskError(failure)) throw failure;
    throw new DownloadFailed(`torrent: ${failure instanceof Error ? failure.message : String(failure)}`);
  }
  await rm(folder, { recursive: true, force: true });
}
