/** The machine that the service runs on: its clock and its disks; and its object store. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf } from '../../kernel/errors.ts';
import { openBlobStore } from '../../storage/blobs/open.ts';
import { type Finding, ok, skipped, warning, wrong } from './finding.ts';
import type { Patient } from './patient.ts';

/** Signatures, certificates and leases bear so much; beyond it they begin to fail. */
const clockWrongMs = 30_000;
const clockOddMs = 5_000;

/** Compared with the clocks of those who are asked anyway: what they say of the time comes with every answer. */
export async function lookAtClock({ config, publicUrls, view }: Patient): Promise<Finding[]> {
  const urls = [
    ...config.ARWEAVE_NODE_URLS.map((url) => `${url}/info`),
    ...config.TRUSTED_GATEWAYS_URLS.map((url) => `${url}/info`),
    ...Object.values(publicUrls),
    ...config.SOLANA_RPC_URL,
  ];
  const asked = await Promise.all(
    urls.slice(0, 9).map(async (url) => {
      const sentAt = Date.now();
      const answer = await view.http.call(url).catch(() => undefined);
      const told = Date.parse(String(answer?.headers.date));
      // Their clock shows whole seconds, and their answer took its time.
      return Number.isNaN(told) ? [] : [told + 500 - (sentAt + Date.now()) / 2];
    }),
  );
  const offsets = asked.flat().sort((a, b) => a - b);
  const middle = offsets[Math.floor(offsets.length / 2)];
  if (middle === undefined) return [skipped('nobody was there to compare the clock with')];
  const seconds = Math.round(Math.abs(middle) / 1000);
  const what = `the clock is ${seconds} seconds ${middle > 0 ? 'behind' : 'ahead of'} what ${offsets.length} ${offsets.length === 1 ? 'server says' : 'servers say'}`;
  const remedy = 'have it set by NTP ("timedatectl set-ntp true", or chrony)';
  if (Math.abs(middle) > clockWrongMs) return [wrong(what, remedy)];
  if (Math.abs(middle) > clockOddMs) return [warning(what, remedy)];
  return [ok(`the clock is right within ${Math.max(1, seconds)} seconds`)];
}

const mebibyte = 1024 * 1024;
/** A cache of small content makes as many files; below it the next hours are at risk. */
const leastInodes = 10_000;

export async function lookAtDisk({ config, surfaces }: Patient): Promise<Finding[]> {
  const folders = [
    config.DATA_DIR,
    ...(surfaces.includes('gateway') ? [config.PARQUET_EXPORT_DIR] : []),
    ...(surfaces.includes('router') ? [config.CONTENT_CACHE_PATH] : []),
  ].filter((path) => path !== undefined);
  const floor = Math.max(
    surfaces.includes('upload') ? config.MIN_FREE_DISK_BYTES : 0,
    config.HEALTHCHECK_MIN_FREE_BYTES,
  );
  const found = await Promise.all(folders.map((folder) => lookAtFolder(resolve(folder), floor)));
  return found.flat();
}

async function lookAtFolder(folder: string, floor: number): Promise<Finding[]> {
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const isAbsent = messageOf(error).startsWith('ENOENT');
    return isAbsent
      ? [warning(`${folder} is not there`, 'the first start makes it; is DATA_DIR the one of the service?')]
      : [
          wrong(
            `${folder} cannot be written to by this user`,
            'run as the user of the service, or "chown" the folder',
          ),
        ];
  }
  const { bavail, bsize, blocks, files, ffree } = await statfs(folder);
  const free = bavail * bsize;
  const found: Finding[] = [];
  const shown = `${Math.floor(free / mebibyte).toLocaleString('en')} MiB`;
  const remedy =
    'make room: smaller caches (CONTIGUOUS_DATA_CACHE_MAX_BYTES, CONTENT_CACHE_MAX_SIZE_BYTES) or a larger disk';
  if (free < floor)
    found.push(
      wrong(`${folder} has ${shown} left, below the floor of ${Math.floor(floor / mebibyte)} MiB`, remedy),
    );
  else if (bavail < blocks / 20)
    found.push(warning(`${folder} has ${shown} left, less than a twentieth`, remedy));
  // Some file systems have no fixed number of them and say 0.
  if (files > 0 && ffree < Math.min(leastInodes, files / 20)) {
    const inodes = `${folder} has ${ffree.toLocaleString('en')} of ${files.toLocaleString('en')} inodes left`;
    found.push(
      wrong(
        inodes,
        'no file can be made without one: remove small files, or make the file system anew with more ("mkfs.ext4 -i 8192")',
      ),
    );
  }
  return found.length > 0
    ? found
    : [
        ok(
          `${folder} has ${shown} and ${files > 0 ? `${ffree.toLocaleString('en')} inodes` : 'inodes as needed'} left`,
        ),
      ];
}

export async function lookAtObjectStore({ config, surfaces }: Patient): Promise<Finding[]> {
  const { BLOB_STORE_URL: blobStoreUrl, DATA_DIR: dataDir } = config;
  if (blobStoreUrl === undefined || !surfaces.some((name) => name === 'upload' || name === 'gateway')) {
    return [skipped('no object store is set')];
  }
  try {
    const store = await openBlobStore({ blobStoreUrl, dataDir });
    try {
      const bytes = randomBytes(1_024);
      const { digest } = await store.put(bytes);
      const back = await store.size(digest);
      await store.delete(digest);
      if (back !== bytes.length) throw new Error('what was stored cannot be found again');
    } finally {
      await store.close();
    }
    return [ok('the object store takes, shows and removes an object')];
  } catch (error) {
    const remedy =
      'check host, bucket and keys of BLOB_STORE_URL, and that they may put, get, list and delete';
    return [wrong(`the object store does not work: ${messageOf(error)}`, remedy)];
  }
}
