/**
 * Gives the network chunks of a permanent bundle again that nobody has any more: out of what is still held here, else from
 * a gateway that has them. Nothing is believed: whatever is given leads to the bundle's data root.
 */
import { DataRootBuilder } from '../../formats/arweave/data-root.ts';
import { encodeBase64url } from '../../formats/base64url.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { ArweaveNodes } from '../../outside/arweave/nodes.ts';
import type { HttpClient } from '../../outside/http.ts';
import { readInteger } from '../../storage/sql/typed-rows.ts';
import { BundleReader, type BundleReaderDeps } from '../bundler/bundle-reader.ts';
import type { BundleRow } from '../bundler/bundle-rows.ts';
import { type BundleData, type ChunkRange, dataOf, provenChunk } from '../bundler/chain-chunks.ts';
import { postChunk, type SeedDeps, seedBytes } from '../bundler/seed.ts';
import { PayloadHashes } from '../hashing/payload-hash.ts';

/** A gateway that may have what nodes lack. */
export interface MendingGateway {
  readonly url: string;
  /** It answers chunks as a node does. */
  readonly chunks: ArweaveNodes;
}

export interface MendDeps extends SeedDeps, Pick<BundleReaderDeps, 'sql' | 'blobs'> {
  readonly log: Logger;
  readonly http: HttpClient;
  readonly gateways: readonly MendingGateway[];
}

const openTimeoutMs = 20_000;
const idleTimeoutMs = 60_000;

/** Answers how many chunks were given; 0 where nobody has what is missing. */
export async function mendBundle(
  deps: MendDeps,
  bundle: BundleRow,
  { place, missing }: { readonly place: bigint; readonly missing: readonly ChunkRange[] },
  signal: AbortSignal,
): Promise<number> {
  const data = dataOf(bundle);
  const starts = new Set(missing.map(({ start }) => start));
  const ways: [string, () => Promise<number>][] = [
    ['what is held here', () => fromHere(deps, bundle.plan, data, starts, signal)],
    ...deps.gateways.flatMap((gateway): [string, () => Promise<number>][] => [
      [gateway.url, () => byChunks(deps, gateway, data, place, missing, starts, signal)],
      [gateway.url, () => byWhole(deps, gateway, data, starts, signal)],
    ]),
  ];
  let given = 0;
  for (const [source, way] of ways) {
    if (starts.size === 0) break;
    signal.throwIfAborted();
    try {
      given += await way();
    } catch (error) {
      signal.throwIfAborted();
      deps.log.info({ plan: bundle.plan, source, reason: messageOf(error) }, 'a source cannot mend a bundle');
    }
  }
  return given;
}

/** Each removes from `starts` what it gave. */
async function fromHere(
  deps: MendDeps,
  plan: string,
  data: BundleData,
  starts: Set<number>,
  signal: AbortSignal,
): Promise<number> {
  const row = await deps.sql.get(
    'SELECT COUNT(*) AS n FROM upload_items WHERE bundle = ? AND held = 0',
    plan,
  );
  if (readInteger(row?.n) > 0) return 0;
  const reader = new BundleReader({ ...deps, hashes: new PayloadHashes(0) });
  const tree = await reader.tree(plan, signal);
  if (!tree.root.equals(data.root)) throw new Error('what is held here is not what was bundled');
  await seedBytes(deps, reader.bytes(plan), tree, signal, (start) => starts.has(start));
  const given = starts.size;
  starts.clear();
  return given;
}

async function byChunks(
  deps: MendDeps,
  gateway: MendingGateway,
  data: BundleData,
  place: bigint,
  missing: readonly ChunkRange[],
  starts: Set<number>,
  signal: AbortSignal,
): Promise<number> {
  let given = 0;
  for (const range of missing) {
    signal.throwIfAborted();
    if (!starts.has(range.start)) continue;
    const answer = await provenChunk(gateway.chunks, data, place, range);
    // One that lacks the first of them hardly has the others, and has the whole at most.
    if (answer.state !== 'found') break;
    const { chunk, dataPath } = answer.value;
    await postChunk(deps.nodes, {
      dataRoot: encodeBase64url(data.root),
      dataSize: data.size,
      dataPath,
      offset: range.end - 1,
      chunk,
    });
    starts.delete(range.start);
    given += 1;
  }
  return given;
}

/** The whole bundle is read twice: once to see that it is the right one, and to have its proofs. */
async function byWhole(
  deps: MendDeps,
  { url }: MendingGateway,
  data: BundleData,
  starts: Set<number>,
  signal: AbortSignal,
): Promise<number> {
  const builder = new DataRootBuilder();
  for await (const bytes of wholeFrom(deps.http, url, data, signal)) builder.update(bytes);
  const tree = builder.finish();
  if (!tree.root.equals(data.root)) throw new Error('the gateway has other bytes');
  await seedBytes(deps, wholeFrom(deps.http, url, data, signal), tree, signal, (start) => starts.has(start));
  const given = starts.size;
  starts.clear();
  return given;
}

async function* wholeFrom(
  http: HttpClient,
  url: string,
  { txId, size }: BundleData,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const limits = { timeoutMs: openTimeoutMs, idleTimeoutMs, signal };
  const answer = await http.open(`${url}/raw/${txId}`, limits);
  try {
    if (answer.status !== 200) throw new Error(`the gateway answered ${answer.status}`);
    let read = 0;
    for await (const bytes of answer.body) {
      read += bytes.length;
      if (read > size) break;
      yield bytes;
    }
    if (read !== size) throw new Error(`the gateway has ${read} bytes, and the bundle ${size}`);
  } finally {
    answer.discard();
  }
}
