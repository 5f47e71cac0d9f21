/**
 * Downloads one file by its digest. What has arrived is kept and continued after a break; what turns out wrong is
 * thrown away. Redirects, compressed answers and bytes beyond the listed size are refused.
 */
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Dispatcher, request } from 'undici';
import { writeFully } from '../../../formats/cdb64/layout.ts';
import { digestFile, isDiskError } from '../files.ts';
import type { BandFile } from '../publication/read-indexes.ts';

export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
  /** The publisher wants no more requests for now (402, 429, 503). */
  readonly pause: boolean;

  constructor(message: string, pause = false) {
    super(message);
    this.pause = pause;
  }
}

/** The bytes are not those that were signed. */
export class VerifyFailed extends Error {
  override readonly name = 'VerifyFailed';
}

export interface FetchFileOptions {
  /** The gateway that published it. */
  readonly url: string;
  readonly folder: string;
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  readonly received?: (bytes: number) => void;
}

/** The path of the whole, checked file. */
export async function fetchFile(file: BandFile, options: FetchFileOptions): Promise<string> {
  await mkdir(options.folder, { recursive: true });
  const path = join(options.folder, file.sha256);
  const have = await sizeOf(path);
  if (have > file.size) await rm(path);
  const start = have > file.size ? 0 : have;
  if (start < file.size || have === -1) await fetchRest(file, path, Math.max(0, start), options);
  const found = await digestFile(path);
  if (found.size === file.size && found.sha256 === file.sha256) return path;
  await rm(path, { force: true });
  throw new VerifyFailed(`${file.name} from ${options.url} is not the file that was signed`);
}

async function fetchRest(
  file: BandFile,
  path: string,
  start: number,
  options: FetchFileOptions,
): Promise<void> {
  const address = `${options.url}/gw/indexes/blob/${file.sha256}`;
  const { statusCode, headers, body } = await request(address, {
    headers: {
      'accept-encoding': 'identity',
      ...(start > 0 && { range: `bytes=${start}-` }),
    },
    dispatcher: options.dispatcher,
    signal: options.signal,
    headersTimeout: 30_000,
    bodyTimeout: 60_000,
  }).catch((error: unknown) => {
    throw new DownloadFailed(`${address}: ${error instanceof Error ? error.message : String(error)}`);
  });
  const refuse = (why: string, pause = false): never => {
    body.on('error', () => {}).destroy();
    throw new DownloadFailed(`${address} ${why}`, pause);
  };
  if (statusCode !== 200 && statusCode !== 206)
    refuse(`answered ${statusCode}`, [402, 429, 503].includes(statusCode));
  if (headers['content-encoding'] !== undefined) refuse('sends compressed bytes');
  if (statusCode === 206 && headers['content-range'] !== `bytes ${start}-${file.size - 1}/${file.size}`)
    refuse('continues elsewhere');
  let at = statusCode === 206 ? start : 0;
  const out = await open(path, at === 0 ? 'w' : 'r+');
  try {
    for await (const piece of body) {
      if (at + piece.length > file.size) {
        await out.truncate(0);
        throw new VerifyFailed(`${address} sends more than was signed`);
      }
      await writeFully(out, piece, piece.length, at);
      at += piece.length;
      options.received?.(piece.length);
    }
    await out.sync();
  } catch (error) {
    if (error instanceof VerifyFailed || isDiskError(error)) throw error;
    throw new DownloadFailed(`${address}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await out.close();
  }
  if (at < file.size) throw new DownloadFailed(`${address} stopped after ${at} of ${file.size} bytes`);
}

/** -1 where there is none. */
async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => -1,
  );
}
