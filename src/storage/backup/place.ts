/**
 * Where backups are kept: a folder, or a bucket of an S3-compatible store. Everything in a backup is a blob, named by its
 * digest, so that what an earlier backup has is not written again and what is read back proves itself. Only the manifests
 * have names of their own; a backup is there when its manifest is.
 *
 *   blobs/ab/cd/<digest>
 *   manifests/<id>.json
 */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { hasCode, messageOf, StartupError } from '../../kernel/errors.ts';
import { makeFolder, writeFileDurably } from '../../kernel/files.ts';
import { privateFileMode, privateFolderMode } from '../../kernel/private-files.ts';
import { type BlobStore, BlobStoreUnavailable } from '../blobs/blobs.ts';
import { DiskBlobStore } from '../blobs/disk/store.ts';
import { parseS3Url } from '../blobs/s3/address.ts';
import { element, S3Client } from '../blobs/s3/client.ts';
import { S3BlobStore } from '../blobs/s3/store.ts';

export interface BackupPlace {
  readonly blobs: BlobStore;
  /** Ids of the backups that are whole, the oldest first. */
  list(): Promise<string[]>;
  /** The manifest of one; undefined where there is none of that id. */
  read(id: string): Promise<string | undefined>;
  write(id: string, manifest: string): Promise<void>;
  remove(id: string): Promise<void>;
  close(): Promise<void>;
}

const idPattern = /^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}$/;
const isId = (text: string): boolean => idPattern.test(text);
/** Of the time at which it began, so that names sort by age. */
export const backupId = (at: Date, random: string): string =>
  `${at.toISOString().replace(/[-:]|\.[0-9]+/g, '')}-${random}`;

const isS3 = (target: string): boolean => /^s3s?:\/\//.test(target);

/** Throws `StartupError`. `make`: the folder may be new. */
export async function openBackupPlace(target: string, make: boolean): Promise<BackupPlace> {
  try {
    return isS3(target) ? await openBucket(target) : await openFolder(resolve(target), make);
  } catch (error) {
    if (error instanceof StartupError) {
      throw new StartupError(error.message.replace('BLOB_STORE_URL', 'the place of the backup'), {
        cause: error,
      });
    }
    if (!(error instanceof BlobStoreUnavailable)) throw error;
    throw new StartupError(`the place of the backup: ${error.message}`, { cause: error });
  }
}

async function openFolder(path: string, make: boolean): Promise<BackupPlace> {
  const manifests = join(path, 'manifests');
  const fileOf = (id: string) => join(manifests, `${assertId(id)}.json`);
  if (make) {
    try {
      makeFolder(manifests, privateFolderMode);
    } catch (error) {
      throw new StartupError(`cannot make the folder ${path}: ${messageOf(error)}`);
    }
  }
  const names = async (): Promise<string[]> => {
    try {
      return await readdir(manifests);
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) throw new StartupError(`there is no backup in ${path}`);
      throw error;
    }
  };
  await names();
  const blobs = await DiskBlobStore.open({ folder: join(path, 'blobs') });
  return {
    blobs,
    list: async () => idsIn(await names()),
    async read(id) {
      try {
        return await readFile(fileOf(id), 'utf8');
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return undefined;
        throw error;
      }
    },
    write: (id, manifest) => writeFileDurably(fileOf(id), manifest, privateFileMode),
    remove: (id) => rm(fileOf(id), { force: true }),
    close: () => blobs.close(),
  };
}

/** A listing page is a short answer: keys of manifests have about a hundred bytes. */
const keysPerPage = 100;
const mostPages = 1_000;
const manifestPrefix = 'manifests/';

async function openBucket(url: string): Promise<BackupPlace> {
  const address = parseS3Url(url);
  const below = new URL(url);
  below.pathname = `${below.pathname.replace(/\/+$/, '')}/blobs`;
  const blobs = await S3BlobStore.open(below.href);
  const client = new S3Client(address);
  const keyOf = (id: string) => `${manifestPrefix}${assertId(id)}.json`;
  return {
    blobs,
    async list() {
      const found: string[] = [];
      let after: string | undefined;
      for (let page = 0; page < mostPages; page += 1) {
        const { xml: answer } = await client.ask({
          method: 'GET',
          key: '',
          query: {
            'list-type': '2',
            prefix: `${address.prefix}${manifestPrefix}`,
            'max-keys': String(keysPerPage),
            ...(after !== undefined && { 'continuation-token': after }),
          },
        });
        found.push(...[...answer.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => key));
        after = element(answer, 'NextContinuationToken');
        if (after === undefined || element(answer, 'IsTruncated') !== 'true') break;
      }
      return idsIn(found.map((key) => key.split('/').at(-1) ?? ''));
    },
    async read(id) {
      const response = await client.send({ method: 'GET', key: keyOf(id) }, [200, 404]);
      if (response.statusCode === 200) return response.body.text();
      await response.body.dump();
      return undefined;
    },
    async write(id, manifest) {
      await client.tell({ method: 'PUT', key: keyOf(id), body: Buffer.from(manifest) });
    },
    async remove(id) {
      await client.tell({ method: 'DELETE', key: keyOf(id) }, [200, 204, 404]);
    },
    async close() {
      await Promise.all([blobs.close(), client.close()]);
    },
  };
}

const idsIn = (names: readonly string[]): string[] =>
  names
    .flatMap((name) => (name.endsWith('.json') && isId(name.slice(0, -5)) ? [name.slice(0, -5)] : []))
    .sort();

function assertId(id: string): string {
  if (!isId(id)) throw new StartupError(`not the id of a backup: ${id}`);
  return id;
}
