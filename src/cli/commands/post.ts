import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { readProcessConfig } from '../../config/config.ts';
import { DataRootBuilder, type DataTree } from '../../formats/arweave/data-root.ts';
import { newTransaction, type Transaction } from '../../formats/arweave/transaction.ts';
import { transactionToJson } from '../../formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { decodeBase64url, encodeBase64url, toTxId } from '../../formats/base64url.ts';
import { StartupError } from '../../kernel/errors.ts';
import { type Command, parseTag, printResult, readArguments, UsageError } from '../command.ts';
import { NodeClient } from '../node-client.ts';
import { ProgressBar } from '../progress-bar.ts';
import { readWallet } from '../wallet-file.ts';

export const post: Command = {
  usage: `turnpike post <file> --wallet <file> [--type <content type>] [--tag <name=value>]… [--json]

Posts the transaction and its chunks to the node and prints the id.`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: {
        wallet: { type: 'string' },
        type: { type: 'string' },
        tag: { type: 'string', multiple: true },
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const [path, ...rest] = positionals;
    if (path === undefined || rest.length > 0) throw new UsageError('say which file');
    if (values.wallet === undefined) throw new UsageError('--wallet is missing');
    const tags = (values.tag ?? []).map(parseTag);
    if (values.type !== undefined) tags.push({ name: 'Content-Type', value: values.type });

    const { privateKey } = readWallet(values.wallet);
    const node = new NodeClient(readProcessConfig());
    const tree = await treeOfFile(path);
    if (tree.size === 0) throw new StartupError(`${path} is empty: the chain stores no empty data`);
    const unsigned = newTransaction({
      lastTx: decodeBase64url(await node.get('/tx_anchor')),
      reward: BigInt(await node.get(`/price/${tree.size}`)),
      dataSize: tree.size,
      dataRoot: tree.root,
      tags,
    });
    const transaction = await signTransactionAsync(unsigned, privateKey);
    await node.post('/tx', transactionToJson(transaction, 'header'));
    await postChunks(node, path, tree, transaction);
    const id = toTxId(transaction.id);
    const url = `${node.url}/tx/${id}/data`;
    printResult(values.json, { id, url, winston: transaction.reward }, `${id}\n${url}`);
    return 0;
  },
};

async function treeOfFile(path: string): Promise<DataTree> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile()) throw new StartupError(`there is no file ${path}`);
  const builder = new DataRootBuilder();
  for await (const bytes of createReadStream(path, { highWaterMark: 1024 * 1024 })) builder.update(bytes);
  return builder.finish();
}

/** Chunk by chunk from the file: memory does not grow with its size. */
async function postChunks(
  node: NodeClient,
  path: string,
  tree: DataTree,
  transaction: Transaction,
): Promise<void> {
  const file = await open(path);
  const bar = new ProgressBar('chunks', tree.size);
  try {
    for (const { start, end, offset, dataPath } of tree.proofs()) {
      const chunk = Buffer.alloc(end - start);
      const { bytesRead } = await file.read(chunk, 0, chunk.length, start);
      if (bytesRead !== chunk.length) throw new StartupError(`${path} changed while it was read`);
      await node.post('/chunk', {
        data_root: encodeBase64url(transaction.dataRoot),
        data_size: String(tree.size),
        data_path: encodeBase64url(dataPath),
        offset: String(offset),
        chunk: encodeBase64url(chunk),
      });
      bar.advance(chunk.length);
    }
  } finally {
    bar.end();
    await file.close();
  }
}
