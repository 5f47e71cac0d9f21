import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { readProcessConfig } from '../../config/config.ts';
import { clientSplit, nodeSplit } from '../../formats/arweave/chunks.ts';
import { DataRootBuilder, type DataTree } from '../../formats/arweave/data-root.ts';
import { encodeBase64url, isTxId } from '../../formats/base64url.ts';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import {
  closeNodes,
  copiesOf,
  findTransaction,
  type NodeView,
  placeOf,
  viewNodes,
} from '../check/chain-copy.ts';
import { type Command, printResult, readArguments, UsageError } from '../command.ts';
import { ProgressBar } from '../progress-bar.ts';
import { severalAtOnce } from '../several-at-once.ts';
import { nodesOf } from './check.ts';

const postsAtOnce = 4;

export const reseed: Command = {
  usage: `turnpike reseed <id> <file> [--node <url>]… [--json]

Gives nodes the chunks of a transaction that they lack, out of the file that it was made of: anybody may. A file that is not
the transaction's data is refused before a byte is sent. "turnpike check <id>" tells what is missing.

  --node <url>  nodes to give them to (default: ARWEAVE_NODE_URLS, or the local one)
  --json        for machines`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: { node: { type: 'string', multiple: true }, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [id, path, ...rest] = positionals;
    if (id === undefined || path === undefined || rest.length > 0)
      throw new UsageError('say which id and which file');
    if (!isTxId(id)) throw new UsageError(`${id} is no id: those have 43 characters`);
    const nodes = viewNodes(nodesOf(readProcessConfig(), values.node));
    try {
      const { posted, lacking } = await seed(nodes, id, path);
      const all =
        lacking === 0 ? 'every node has every chunk' : `${lacking} chunks could not be given to a node`;
      printResult(
        values.json,
        { id, posted, lacking },
        `${posted} chunks were given to nodes that lacked them; ${all}`,
      );
      return lacking === 0 ? 0 : 1;
    } finally {
      await closeNodes(nodes);
    }
  },
};

async function seed(nodes: readonly NodeView[], id: string, path: string) {
  const found = await findTransaction(nodes, id);
  if (found === undefined) {
    throw new StartupError(
      `no node knows a transaction ${id}; of a data item the bundle is seeded: turnpike check ${id}`,
    );
  }
  const { dataRoot, dataSize } = found.transaction;
  if (dataSize === 0) throw new StartupError(`${id} has no data`);
  const tree = await treeOf(path, dataRoot, dataSize);
  const place = await placeOf(nodes, found);
  // What is not mined yet lies nowhere: every chunk is given.
  const copies = place === undefined ? [] : await copiesOf(nodes, place, { from: 0, to: dataSize });
  const has = (url: string, start: number): boolean =>
    copies.some((chunk) => chunk.start === start && chunk.nodes.includes(url));
  const wanted = [...tree.proofs()].flatMap((proof) =>
    nodes.filter(({ url }) => !has(url, proof.start)).map((view) => ({ proof, view })),
  );
  const file = await open(path);
  const bar = new ProgressBar('chunks', wanted.length);
  let [posted, lacking, reason] = [0, 0, ''];
  try {
    await severalAtOnce(wanted, postsAtOnce, async ({ proof: { start, end, offset, dataPath }, view }) => {
      const chunk = Buffer.alloc(end - start);
      const { bytesRead } = await file.read(chunk, 0, chunk.length, start);
      if (bytesRead !== chunk.length) throw new StartupError(`${path} changed while it was read`);
      const upload = { dataRoot: encodeBase64url(dataRoot), dataSize, dataPath, offset, chunk };
      await view.node.postChunk(upload).then(
        () => {
          posted += 1;
        },
        (error: unknown) => {
          lacking += 1;
          reason = `${view.url}: ${messageOf(error)}`;
        },
      );
      bar.advance(1);
    });
  } finally {
    bar.end();
    await file.close();
  }
  if (posted === 0 && lacking > 0) throw new StartupError(`no chunk was taken: ${reason}`);
  return { posted, lacking };
}

/** The tree of the file, in the way of cutting that leads to the transaction's root. */
async function treeOf(path: string, root: Buffer, size: number): Promise<DataTree> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || !found.isFile()) throw new StartupError(`there is no file ${path}`);
  if (found.size !== size) {
    throw new StartupError(
      `${path} is another file: it has ${found.size} bytes, and the transaction's data ${size}`,
    );
  }
  const builders = [clientSplit, nodeSplit].map((split) => new DataRootBuilder(split));
  for await (const bytes of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    for (const builder of builders) builder.update(bytes);
  }
  const tree = builders.map((builder) => builder.finish()).find((made) => made.root.equals(root));
  if (tree === undefined)
    throw new StartupError(`${path} is another file: its bytes do not lead to the data root`);
  return tree;
}
