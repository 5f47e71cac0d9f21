import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { readProcessConfig } from '../../config/config.ts';
import { contentTypeOfFile } from '../../formats/content-types.ts';
import { buildManifest, manifestContentType } from '../../formats/manifest/manifest.ts';
import { StartupError } from '../../kernel/errors.ts';
import { normalizeAddress } from '../../wallets/address.ts';
import type { ArweaveKey } from '../../wallets/arweave/rsa.ts';
import { type Command, parseTag, printResult, readArguments, UsageError } from '../command.ts';
import { ProgressBar } from '../progress-bar.ts';
import { serviceUrl } from '../service-url.ts';
import { severalAtOnce } from '../several-at-once.ts';
import { explainCredits } from '../upload/explain-credits.ts';
import { bytesItem, fileItem } from '../upload/file-item.ts';
import { NotEnoughCredits, UploadClient } from '../upload/upload-client.ts';
import { readWallet } from '../wallet-file.ts';

const filesAtOnce = 4;

export const upload: Command = {
  usage: `turnpike upload <file or folder> --wallet <file> [--type <content type>] [--tag <name=value>]…
                [--index <path>] [--fallback <path>] [--paid-by <address>] [--url <upload service>] [--json]

Stores a file, or all files of a folder and a manifest that gives them paths, and prints the address.
Paid with the credits of the wallet, or with those that --paid-by has shared with it. An upload that was
broken off goes on where it was when the same command is given again.

  --index     the folder's page for its own address (default index.html, when there is one)
  --fallback  the page for paths that are not there`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: {
        wallet: { type: 'string' },
        type: { type: 'string' },
        tag: { type: 'string', multiple: true },
        index: { type: 'string' },
        fallback: { type: 'string' },
        'paid-by': { type: 'string', multiple: true },
        url: { type: 'string' },
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [path, ...rest] = positionals;
    if (path === undefined || rest.length > 0) throw new UsageError('say which file or folder');
    if (values.wallet === undefined) throw new UsageError('--wallet is missing');
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) throw new StartupError(`there is no file or folder ${path}`);

    const config = readProcessConfig();
    const order: Order = {
      client: new UploadClient(serviceUrl(values.url, config.HOST, config.UPLOAD_PORT)),
      key: readWallet(values.wallet),
      tags: (values.tag ?? []).map(parseTag),
      paidBy: (values['paid-by'] ?? []).map(parsePayer),
    };
    const gateway = await order.client.gateway();
    const uploading = found.isDirectory()
      ? uploadFolder(order, path, values.index, values.fallback)
      : uploadFile(order, path, values.type ?? contentTypeOfFile(path));
    const id = await uploading.catch(async (error: unknown) => {
      if (!(error instanceof NotEnoughCredits)) throw error;
      throw new StartupError(await explainCredits(config, order.key.address, error.bytes, values.url));
    });
    printResult(values.json, { id, url: `${gateway}/${id}` }, `${gateway}/${id}`);
    return 0;
  },
};

interface Order {
  readonly client: UploadClient;
  readonly key: ArweaveKey;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly paidBy: readonly string[];
}

async function uploadFile(order: Order, path: string, type: string): Promise<string> {
  const tags = [{ name: 'Content-Type', value: type }, ...order.tags];
  const item = await fileItem(path, tags, order.key);
  const bar = new ProgressBar(path, item.size);
  try {
    await order.client.upload(item, order.paidBy, (bytes) => bar.advance(bytes));
  } finally {
    bar.end();
  }
  return item.id;
}

async function uploadFolder(
  order: Order,
  folder: string,
  index: string | undefined,
  fallback: string | undefined,
): Promise<string> {
  const files = await filesOf(folder);
  if (files.length === 0) throw new StartupError(`${folder} holds no files`);
  for (const page of [index, fallback]) {
    if (page !== undefined && !files.some((file) => file.path === page)) {
      throw new StartupError(`there is no ${page} in ${folder}`);
    }
  }
  const ids = new Map<string, string>();
  const bar = new ProgressBar(
    `${files.length} files`,
    files.reduce((sum, file) => sum + file.size, 0),
  );
  try {
    await severalAtOnce(files, filesAtOnce, async ({ path, size }) => {
      const tags = [{ name: 'Content-Type', value: contentTypeOfFile(path) }, ...order.tags];
      const item = await fileItem(join(folder, path), tags, order.key);
      await order.client.upload(item, order.paidBy, () => {});
      ids.set(path, item.id);
      bar.advance(size);
    });
  } finally {
    bar.end();
  }
  const indexPath = index ?? (ids.has('index.html') ? 'index.html' : undefined);
  const fallbackId = fallback === undefined ? undefined : ids.get(fallback);
  const manifest = buildManifest({
    paths: new Map(files.map((file) => [file.path, ids.get(file.path) ?? ''])),
    ...(indexPath === undefined ? {} : { indexPath }),
    ...(fallbackId === undefined ? {} : { fallbackId }),
  });
  const tags = [{ name: 'Content-Type', value: manifestContentType }, ...order.tags];
  const item = await bytesItem(manifest, tags, order.key);
  await order.client.upload(item, order.paidBy, () => {});
  return item.id;
}

interface FolderFile {
  /** Within the folder, with slashes. */
  readonly path: string;
  readonly size: number;
}

/** Every file below a folder, in one order on every machine; what begins with a dot is left out. */
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

function parsePayer(text: string): string {
  const address = normalizeAddress(text);
  if (address === undefined) throw new UsageError(`${JSON.stringify(text)} is no wallet address`);
  return address;
}
