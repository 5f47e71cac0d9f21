/** `turnpike index verify`: is a publication signed, current, and are its files what it says? */
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { FormatError } from '../../formats/format-error.ts';
import { rootIndex } from '../../gateway/published-indexes/bands/build.ts';
import { digestFile, readBounded } from '../../gateway/published-indexes/files.ts';
import { indexFolders } from '../../gateway/published-indexes/folders.ts';
import type { Band, BandFile } from '../../gateway/published-indexes/publication/document.ts';
import {
  maxDocumentBytes,
  type VerifiedPublication,
  verifyPublication,
} from '../../gateway/published-indexes/publication/document.ts';
import { checkRootBand } from '../../gateway/published-indexes/subscriber/check-band.ts';
import {
  blobAddress,
  DownloadFailed,
  fetchDocument,
  fetchFile,
  publisherClient,
} from '../../gateway/published-indexes/subscriber/download.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { HttpClient, OutsideUnavailable } from '../../outside/http.ts';
import { UsageError } from '../command.ts';
import { ProgressBar } from '../progress-bar.ts';

export interface VerifyOptions {
  /** A gateway; without it the publication on this disk. */
  readonly url: string | undefined;
  readonly key: string | undefined;
  /** Download the files of a gateway too. */
  readonly files: boolean;
  readonly json: boolean;
}

export async function verifyIndexes(config: Config, options: VerifyOptions): Promise<number> {
  const { url, key, json } = options;
  const publication = readSigned(url === undefined ? await storedDocument(config) : await fetched(url));
  const { keyId, sequence, expiresAt } = publication;
  const expired = Date.parse(expiresAt) < Date.now();
  const wrong =
    url === undefined
      ? await checkStored(config, publication)
      : options.files
        ? await checkServed(url, publication)
        : [];
  const checked = url === undefined || options.files ? filesOf(publication).length : 0;
  const ok = !expired && (key === undefined || key === keyId) && wrong.length === 0;
  if (json) console.log(JSON.stringify({ ok, keyId, sequence, expiresAt, expired, checked, wrong }));
  else {
    console.log(`signed by ${keyId}, sequence ${sequence}, ${expired ? 'EXPIRED' : 'expires'} ${expiresAt}`);
    if (key !== undefined && key !== keyId) console.log(`NOT signed by ${key}`);
    for (const line of wrong) console.log(`WRONG: ${line}`);
    if (checked > 0 && wrong.length === 0) console.log(`${checked} files are what was signed`);
  }
  return ok ? 0 : 1;
}

/** Every listed file by its digest, as the gateway would serve it. */
async function checkStored(config: Config, publication: VerifiedPublication): Promise<string[]> {
  const { blobs } = indexFolders(config.DATA_DIR);
  const wrong: string[] = [];
  const bar = new ProgressBar('bytes', bytesOf(publication));
  for (const { band, file } of filesOf(publication)) {
    const found = await digestFile(join(blobs, file.sha256)).catch(() => undefined);
    if (found === undefined) wrong.push(`${band.id}/${file.name} is missing`);
    else if (found.sha256 !== file.sha256) wrong.push(`${band.id}/${file.name} has other bytes`);
    bar.advance(file.size);
  }
  bar.end();
  return wrong;
}

/** Downloads band by band, checks digests, and the tables of every file. */
async function checkServed(url: string, publication: VerifiedPublication): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-index-verify-'));
  const http = new HttpClient({ ...publisherClient, connections: 1 });
  const wrong: string[] = [];
  const bar = new ProgressBar('bytes', bytesOf(publication));
  try {
    for (const { name, bands } of publication.indexes)
      for (const band of bands) {
        const whole = await mkdtemp(join(folder, 'band-'));
        try {
          for (const file of band.files) {
            const path = await fetchFile(file, {
              http,
              address: blobAddress(url.replace(/\/+$/, ''), file),
              folder,
              signal: new AbortController().signal,
              received: (bytes) => bar.advance(bytes),
            });
            await rename(path, join(whole, file.name));
          }
          if (name === rootIndex.name) await checkRootBand(whole, band);
        } catch (error) {
          wrong.push(`${band.id}: ${messageOf(error)}`);
        }
        await rm(whole, { recursive: true, force: true });
      }
  } finally {
    bar.end();
    await http.close();
    await rm(folder, { recursive: true, force: true });
  }
  return wrong;
}

function filesOf({ indexes }: VerifiedPublication): { band: Band; file: BandFile }[] {
  return indexes.flatMap(({ bands }) => bands.flatMap((band) => band.files.map((file) => ({ band, file }))));
}

function bytesOf(publication: VerifiedPublication): number {
  return filesOf(publication).reduce((sum, { file }) => sum + file.size, 0);
}

export function readSigned(bytes: Buffer): VerifiedPublication {
  try {
    return verifyPublication(bytes);
  } catch (error) {
    if (error instanceof FormatError) throw new StartupError(`the publication is wrong: ${error.message}`);
    throw error;
  }
}

export async function storedDocument(config: Config): Promise<Buffer> {
  const bytes = await readBounded(indexFolders(config.DATA_DIR).document, maxDocumentBytes);
  if (bytes === undefined) throw new StartupError('nothing is published here: run "turnpike index publish"');
  return bytes;
}

async function fetched(address: string): Promise<Buffer> {
  if (!URL.canParse(address)) throw new UsageError(`${address} is not an address`);
  const http = new HttpClient(publisherClient);
  try {
    const document = await fetchDocument(http, address.replace(/\/+$/, ''));
    if (document === undefined) throw new StartupError(`${address} answers nothing`);
    return document.bytes;
  } catch (error) {
    if (error instanceof FormatError) throw new StartupError(`${address} sends more than a publication`);
    if (error instanceof DownloadFailed) throw new StartupError(error.message);
    if (!(error instanceof OutsideUnavailable)) throw error;
    throw new StartupError(`${address} cannot be reached: ${messageOf(error.cause ?? error)}`);
  } finally {
    await http.close();
  }
}
