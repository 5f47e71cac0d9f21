/** Gives the network the chunks of a posted bundle, each with its proof, a few at a time. */
import { ChunkStream } from '../../formats/arweave/chunk-stream.ts';
import { clientSplit } from '../../formats/arweave/chunks.ts';
import type { DataTree } from '../../formats/arweave/data-root.ts';
import { encodeBase64url } from '../../formats/base64url.ts';
import type { AtOnce } from '../../kernel/background/at-once.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import {
  type ArweaveNodes,
  type ChunkUpload,
  NodeRefused,
  NodeUnavailable,
} from '../../outside/arweave/nodes.ts';

export interface SeedDeps {
  readonly nodes: ArweaveNodes;
  /** Chunks that are posted at the same time, for all bundles of this process. */
  readonly posts: AtOnce;
  readonly chunkConcurrency: number;
}

/** Codes of refusals that may pass: the node does not know the transaction yet, or has no room now. */
const passing = new Set(['data_root_not_found', 'exceeds_disk_pool_size_limit', 'disk_full', 'timeout']);
const tries = 4;
const backoff = { firstMs: 500, longestMs: 1_500 };

/**
 * The bytes are those that the tree was made of, and may come from anywhere. `isWanted`: of the chunk that begins there;
 * without it all are given.
 */
export async function seedBytes(
  deps: SeedDeps,
  source: AsyncIterable<Buffer>,
  tree: DataTree,
  signal: AbortSignal,
  isWanted: (start: number) => boolean = () => true,
): Promise<void> {
  const posting = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let index = 0;
  const begin = (chunk: Uint8Array): void => {
    const { start, offset, dataPath } = tree.proof(index++);
    if (!isWanted(start)) return;
    const upload = {
      dataRoot: encodeBase64url(tree.root),
      dataSize: tree.size,
      dataPath,
      offset,
      chunk: Buffer.from(chunk),
    };
    const posted = deps.posts
      .run(() => postChunk(deps.nodes, upload))
      .catch((error: unknown) => void failures.push(error))
      .finally(() => posting.delete(posted));
    posting.add(posted);
  };
  const chunks = new ChunkStream(clientSplit.style, begin);
  for await (const bytes of source) {
    signal.throwIfAborted();
    if (failures.length > 0) break;
    chunks.update(bytes);
    while (posting.size >= deps.chunkConcurrency) await Promise.race(posting);
  }
  if (failures.length === 0) chunks.finish();
  await Promise.all(posting);
  if (failures.length > 0) throw failures[0];
}

export async function postChunk(nodes: ArweaveNodes, upload: ChunkUpload): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await nodes.postChunk(upload);
    } catch (error) {
      const mayPass =
        error instanceof NodeUnavailable || (error instanceof NodeRefused && passing.has(error.code));
      if (!mayPass || attempt === tries) throw error;
      await new Promise((resolve) => setTimeout(resolve, backoffMs(backoff, attempt)));
    }
  }
}
