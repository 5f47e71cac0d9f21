/**
 * Brings one band of a publisher into use: what earlier attempts left is taken up, the rest is downloaded from the
 * publisher and then from its web seeds, every file is checked by its digest, the band as a whole by its kind, and then
 * one rename installs it.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FormatError } from '../../../formats/format-error.ts';
import { syncFolder } from '../../../kernel/files.ts';
import type { HttpClient } from '../../../outside/http.ts';
import { digestFile, isDiskError, sizeOf } from '../files.ts';
import type { Band, BandFile } from '../publication/document.ts';
import { checkRootBand } from './check-band.ts';
import { blobAddress, DownloadFailed, fetchFile, VerifyFailed } from './download.ts';
import { installedName } from './incoming.ts';
import { webSeedsOf } from './web-seeds.ts';

/** Where bytes came from. */
export type ByteOrigin = 'http' | 'webseed';

export interface InstallOptions {
  /** The gateway that published it. */
  readonly url: string;
  /** Files at a time. */
  readonly concurrency: number;
  readonly incoming: string;
  readonly target: string;
  /** For whom the operator named. */
  readonly http: HttpClient;
  /** For addresses that others wrote: it connects to public ones only. */
  readonly publicHttp: HttpClient;
  readonly signal: AbortSignal;
  readonly received: (from: ByteOrigin, bytes: number) => void;
}

interface Source {
  readonly origin: ByteOrigin;
  readonly http: HttpClient;
  readonly addressOf: (file: BandFile) => string;
}

export async function installBand(band: Band, options: InstallOptions): Promise<void> {
  const { incoming, target } = options;
  const whole = join(incoming, installedName(band));
  let missing = await takeUp(band, whole, join(incoming, 'parts'));
  let failure: unknown;
  for (const source of sourcesOf(band, options)) {
    if (missing.length === 0) break;
    try {
      await downloadFiles(missing, whole, source, options);
    } catch (error) {
      if (isDiskError(error)) throw error;
      options.signal.throwIfAborted();
      failure ??= error;
    }
    missing = await missingOf(band, whole);
  }
  if (missing.length > 0) throw failure ?? new DownloadFailed(`${band.id} is nowhere`);
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
  return (await sizeOf(path)) === file.size && (await digestFile(path)).sha256 === file.sha256;
}

/** The publisher itself first. */
function sourcesOf(band: Band, { url, http, publicHttp }: InstallOptions): Source[] {
  return [
    { origin: 'http', http, addressOf: (file) => blobAddress(url, file) },
    ...webSeedsOf(band, url).map(
      ({ base, isPublic }): Source => ({
        origin: 'webseed',
        http: isPublic ? publicHttp : http,
        addressOf: ({ name }) => `${base}${name}`,
      }),
    ),
  ];
}

/** Several at a time; the first failure ends all. */
async function downloadFiles(
  files: readonly BandFile[],
  whole: string,
  { origin, http, addressOf }: Source,
  options: InstallOptions,
): Promise<void> {
  const queue = [...files];
  const failed = new AbortController();
  const signal = AbortSignal.any([failed.signal, options.signal]);
  const folder = join(options.incoming, 'parts');
  const received = (bytes: number) => options.received(origin, bytes);
  const work = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const path = await fetchFile(file, { http, address: addressOf(file), folder, signal, received });
      await rename(path, join(whole, file.name));
    }
  };
  const workers = Array.from({ length: options.concurrency }, () =>
    work().catch((error: unknown) => {
      queue.length = 0;
      failed.abort(error);
      throw error;
    }),
  );
  const [first] = (await Promise.allSettled(workers)).filter((result) => result.status === 'rejected');
  if (first !== undefined) throw failed.signal.reason ?? first.reason;
}
