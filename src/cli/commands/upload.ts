import { stat } from 'node:fs/promises';
import { readProcessConfig } from '../../config/config.ts';
import { contentTypeOfFile } from '../../formats/content-types.ts';
import { StartupError } from '../../kernel/errors.ts';
import { normalizeAddress } from '../../wallets/address.ts';
import { type Command, parseTag, printResult, readArguments, UsageError } from '../command.ts';
import { findKey, type PersonKey } from '../person-key.ts';
import { ProgressBar } from '../progress-bar.ts';
import { serviceUrl } from '../service-url.ts';
import { severalAtOnce } from '../several-at-once.ts';
import { explainCredits } from '../upload/explain-credits.ts';
import { fileItem } from '../upload/file-item.ts';
import { folderItems } from '../upload/folder.ts';
import { NotEnoughCredits, UploadClient } from '../upload/upload-client.ts';

const filesAtOnce = 4;

export const upload: Command = {
  usage: `turnpike upload <file or folder> [--wallet <file>] [--type <content type>] [--tag <name=value>]…
                [--index <path>] [--fallback <path>] [--paid-by <address>] [--url <upload service>] [--json]

Stores a file, or all files of a folder and a manifest that gives them paths, and prints the address.
Paid with the credits of the wallet, or with those that --paid-by has shared with it. An upload that was
broken off goes on where it was when the same command is given again.

  --wallet    key file of the wallet: Arweave, Ethereum or Solana; without it the key in TURNPIKE_WALLET
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
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) throw new StartupError(`there is no file or folder ${path}`);

    const config = readProcessConfig();
    const order: Order = {
      client: new UploadClient(serviceUrl(config, 'upload', values.url)),
      key: await findKey({ file: values.wallet, inEnvironment: config.TURNPIKE_WALLET }),
      tags: (values.tag ?? []).map(parseTag),
      paidBy: (values['paid-by'] ?? []).map(parsePayer),
    };
    const gateway = await order.client.gateway();
    const uploading = found.isDirectory()
      ? uploadFolder(order, path, { index: values.index, fallback: values.fallback })
      : uploadFile(order, path, values.type ?? contentTypeOfFile(path));
    const id = await uploading.catch(async (error: unknown) => {
      if (!(error instanceof NotEnoughCredits)) throw error;
      throw new StartupError(await explainCredits(config, order.key.address, error.bytes, values.url));
    });
    printResult(values.json, { id, url: `${gateway}/${id}` }, `${gateway}/${id}`);
    return 0;
  },
};

interface FolderPages {
  readonly index: string | undefined;
  readonly fallback: string | undefined;
}

interface Order {
  readonly client: UploadClient;
  readonly key: PersonKey;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly paidBy: readonly string[];
}

async function uploadFile(order: Order, path: string, type: string): Promise<string> {
  const tags = [{ name: 'Content-Type', value: type }, ...order.tags];
  const item = await fileItem(path, tags, order.key.items);
  const bar = new ProgressBar(path, item.size, { unit: 'bytes' });
  try {
    await order.client.upload(item, order.paidBy, (bytes) => bar.advance(bytes));
  } finally {
    bar.end();
  }
  return item.id;
}

async function uploadFolder(order: Order, folder: string, pages: FolderPages): Promise<string> {
  const { files, manifest } = await folderItems(folder, {
    signer: order.key.items,
    tags: order.tags,
    ...pages,
  });
  const total = files.reduce((sum, { item }) => sum + item.size, 0);
  const bar = new ProgressBar(`${files.length} files`, total, { unit: 'bytes' });
  try {
    await severalAtOnce(files, filesAtOnce, async ({ item }) => {
      await order.client.upload(item, order.paidBy, (bytes) => bar.advance(bytes));
    });
  } finally {
    bar.end();
  }
  // Last: nobody shall find a path whose file is not there.
  await order.client.upload(manifest, order.paidBy, () => {});
  return manifest.id;
}

function parsePayer(text: string): string {
  const address = normalizeAddress(text);
  if (address === undefined) throw new UsageError(`${JSON.stringify(text)} is no wallet address`);
  return address;
}
