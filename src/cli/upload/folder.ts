/**
 * A folder as the items that it is made of: every file, and the manifest that gives them paths. All ids are known before
 * a byte is sent, because signatures have no salt.
 */

import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { TagSource } from '../../formats/avro-tags.ts';
import { contentTypeOfFile } from '../../formats/content-types.ts';
import { buildManifest, manifestContentType } from '../../formats/manifest/manifest.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { ItemSigner } from '../../wallets/data-items/signer.ts';
import { severalAtOnce } from '../several-at-once.ts';
import { bytesItem, fileItem, type UploadItem } from './file-item.ts';

const filesAtOnce = 4;

export interface FolderOptions {
  readonly signer: ItemSigner;
  readonly tags: readonly TagSource[];
  /** The page for the folder's own address; `index.html`, where there is one, unless given. */
  readonly index?: string | undefined;
  /** The page for paths that are not there. */
  readonly fallback?: string | undefined;
}

export interface FolderItems {
  /** By path, in one order on every machine. */
  readonly files: readonly { readonly path: string; readonly item: UploadItem }[];
  readonly manifest: UploadItem;
}

/** `read` is told of bytes as they are hashed, of `total`. */
export async function folderItems(
  folder: string,
  { signer, tags, index, fallback }: FolderOptions,
  started: (total: number) => (read: number) => void = () => () => {},
): Promise<FolderItems> {
  const files = await filesOf(folder);
  if (files.length === 0) throw new StartupError(`${folder} holds no files`);
  for (const page of [index, fallback]) {
    if (page !== undefined && !files.some((file) => file.path === page)) {
      throw new StartupError(`there is no ${page} in ${folder}`);
    }
  }
  const read = started(files.reduce((sum, file) => sum + file.size, 0));
  const items = new Map<string, UploadItem>();
  await severalAtOnce(files, filesAtOnce, async ({ path, size }) => {
    const own = [{ name: 'Content-Type', value: contentTypeOfFile(path) }, ...tags];
    items.set(path, await fileItem(join(folder, path), own, signer));
    read(size);
  });
  const made = files.flatMap(({ path }) => {
    const item = items.get(path);
    return item === undefined ? [] : [{ path, item }];
  });
  const indexPath = index ?? (items.has('index.html') ? 'index.html' : undefined);
  const fallbackId = fallback === undefined ? undefined : items.get(fallback)?.id;
  const manifest = buildManifest({
    paths: new Map(made.map(({ path, item }) => [path, item.id])),
    ...(indexPath === undefined ? {} : { indexPath }),
    ...(fallbackId === undefined ? {} : { fallbackId }),
  });
  const own = [{ name: 'Content-Type', value: manifestContentType }, ...tags];
  return { files: made, manifest: await bytesItem(manifest, own, signer) };
}

interface FolderFile {
  /** Within the folder, with slashes. */
  readonly path: string;
  readonly size: number;
}

/** Every file below a folder; what begins with a dot is left out. */
async function filesOf(folder: string): Promise<FolderFile[]> {
  const entries: Dirent[] = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: FolderFile[] = [];
  for (const entry of entries) {
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/');
    if (!entry.isFile() || path.split('/').some((part) => part.startsWith('.'))) continue;
    files.push({ path, size: (await stat(join(folder, path))).size });
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}
