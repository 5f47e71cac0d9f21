/**
 * What is fetched of a publisher over HTTP: the signed document, and files by their digest. Bytes of a file that have
 * arrived are kept and continued after a break; those that turn out wrong are thrown away. Redirects, compressed answers
 * and bytes beyond the listed size are refused.
 */

import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFully } from '../../../formats/cdb64/layout.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { messageOf } from '../../../kernel/errors.ts';
import { type HttpClient, readLimited } from '../../../outside/http.ts';
import { digestFile, isDiskError, sizeOf } from '../files.ts';
import { type BandFile, maxDocumentBytes } from '../publication/document.ts';

export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
  /** The publisher wants no more requests for now (402, 429, 503). */
  readonly pause: boolean;

  constructor(message: string, options: { readonly pause?: boolean; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.pause = options.pause === true;
  }
}

/** The bytes are not those that were signed. */
export class VerifyFailed extends Error {
  override readonly name = 'VerifyFailed';
}

/** The client for publishers that the operator named. */
export const publisherClient = { timeoutMs: 30_000, maxBytes: maxDocumentBytes, connections: 16 };

export interface FetchedDocument {
  readonly bytes: Buffer;
  readonly etag: string | undefined;
}

/** With an ETag that still holds: undefined. */
export async function fetchDocument(
  http: HttpClient,
  url: string,
  { etag, signal }: { readonly etag?: string; readonly signal?: AbortSignal } = {},
): Promise<FetchedDocument | undefined> {
  const { status, headers, body } = await http.open(`${url}/gw/indexes`, {
    headers: {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...(etag !== undefined && { 'if-none-match': etag }),
    },
    idleTimeoutMs: 30_000,
    ...(signal && { signal }),
  });
  const bytes = await readLimited(body, maxDocumentBytes).catch((error: unknown) => {
    throw error instanceof RangeError ? new FormatError('the document is too large') : error;
  });
  if (status === 304 && etag !== undefined) return undefined;
  if (status !== 200) throw new DownloadFailed(`${url} answered ${status}`);
  return { bytes, etag: typeof headers.etag === 'string' ? headers.etag : undefined };
}

export interface FetchFileOptions {
  readonly http: HttpClient;
  readonly address: string;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly received: (bytes: number) => void;
}

/** Where a publisher has the file. */
export function blobAddress(url: string, { sha256 }: BandFile): string {
  return `${url}/gw/indexes/blob/${sha256}`;
}

/** The path of the whole, checked file. */
export async function fetchFile(file: BandFile, options: FetchFileOptions): Promise<string> {
  await mkdir(options.folder, { recursive: true });
  const path = join(options.folder, file.sha256);
  const present = await sizeOf(path);
  if (present === undefined || present !== file.size) {
    if (present !== undefined && present > file.size) await rm(path);
    await fetchRest(file, path, present === undefined || present > file.size ? 0 : present, options);
  }
  const found = await digestFile(path);
  if (found.size === file.size && found.sha256 === file.sha256) return path;
  await rm(path, { force: true });
  throw new VerifyFailed(`${file.name} from ${options.address} is not the file that was signed`);
}

async function fetchRest(
  file: BandFile,
  path: string,
  start: number,
  { http, address, signal, received }: FetchFileOptions,
): Promise<void> {
  const failed = (cause: unknown) => new DownloadFailed(`${address}: ${messageOf(cause)}`, { cause });
  const answer = await http
    .open(address, {
      headers: { 'accept-encoding': 'identity', ...(start > 0 && { range: `bytes=${start}-` }) },
      idleTimeoutMs: 60_000,
      signal,
    })
    .catch((error: unknown) => {
      throw failed(error);
    });
  const { status, headers } = answer;
  const refuse = (why: string, pause = false): never => {
    answer.discard();
    throw new DownloadFailed(`${address} ${why}`, { pause });
  };
  if (status !== 200 && status !== 206) refuse(`answered ${status}`, [402, 429, 503].includes(status));
  if (headers['content-encoding'] !== undefined) refuse('sends compressed bytes');
  if (status === 206 && headers['content-range'] !== `bytes ${start}-${file.size - 1}/${file.size}`)
    refuse('continues elsewhere');
  let at = status === 206 ? start : 0;
  const out = await open(path, at === 0 ? 'w' : 'r+');
  try {
    for await (const piece of answer.body) {
      if (at + piece.length > file.size) {
        await out.truncate(0);
        throw new VerifyFailed(`${address} sends more than was signed`);
      }
      await writeFully(out, piece, piece.length, at);
      at += piece.length;
      received(piece.length);
    }
    await out.sync();
  } catch (error) {
    if (error instanceof VerifyFailed || isDiskError(error)) throw error;
    throw failed(error);
  } finally {
    await out.close();
  }
  if (at < file.size) throw new DownloadFailed(`${address} stopped after ${at} of ${file.size} bytes`);
}
