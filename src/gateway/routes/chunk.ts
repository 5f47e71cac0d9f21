/** `/chunk/{offset}` as a node answers it, and `/chunk/{offset}/data` with the bytes and where they belong. */
import { hash } from 'node:crypto';
import { encodeBase64url } from '../../formats/base64url.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import type { RawChunk } from '../chain/node-chunks.ts';
import { nodeError, upstreamUnavailable } from '../errors.ts';
import { param } from '../paths.ts';
import { addGet, type ChainReadsDeps, cacheBy, parseDigits, refuseBlockedBytes } from './answers.ts';

interface Owner {
  readonly id: string;
  readonly size: number;
  /** Weave offset of the first byte of its data. */
  readonly start: number;
  readonly stable: boolean;
}

interface FoundChunk {
  readonly offset: number;
  /** With the address of the node that gave it. */
  readonly chunk: RawChunk & { readonly url: string };
  readonly owner: Owner | undefined;
}

interface ChunkBody {
  readonly bytes: Buffer;
  readonly contentType: string;
}

export function chunkRoutes(app: App, deps: ChainReadsDeps): void {
  const { index, chunks, meter, blocklist } = deps;
  async function chunkOf(request: Request): Promise<FoundChunk> {
    const text = param(request, 'offset');
    if (/^-[0-9]+$/.test(text)) throw nodeError(400, { error: 'offset_out_of_bounds' });
    if (!/^[0-9]{1,78}$/.test(text)) throw nodeError(400, { error: 'invalid_offset' });
    const offset = parseDigits(text);
    const chunk = offset === undefined || offset === 0 ? undefined : await chunks.rawChunk(offset);
    if (offset === undefined || chunk === undefined) throw nodeError(404, '');
    const owner = await ownerOf(chunk, offset);
    if (owner !== undefined) {
      const { relativeStart: start, bytes } = chunk;
      await refuseBlockedBytes(deps, owner.id, { start, end: start + bytes.length });
    } else if (!blocklist.isEmpty && (await isBeyondIndex(offset))) {
      // Whose bytes these are the index tells in a moment; until then they may be what is blocked.
      throw upstreamUnavailable(new Error(`the index has no transaction at ${offset} yet`));
    }
    return { offset, chunk, owner };
  }

  /** The transaction whose data covers the offset, where the index has one with that data root. */
  async function ownerOf(chunk: RawChunk, offset: number): Promise<Owner | undefined> {
    for (const id of await index.transactionsWithDataRoot(encodeBase64url(chunk.dataRoot))) {
      const located = await index.locate(id);
      if (located?.height === undefined) continue;
      const end = located.rootEndOffset ?? (await chunks.endOffset(id))?.endOffset;
      if (end === undefined) continue;
      const start = end - located.size + 1;
      if (offset >= start && offset <= end) return { id, size: located.size, start, stable: located.stable };
    }
    return undefined;
  }

  /** Whether the offset lies in a block that was not imported yet. */
  async function isBeyondIndex(offset: number): Promise<boolean> {
    const newest = await index.blockJson(index.height);
    const end = newest === undefined ? 0 : Number(memberOf(tryParseJson(newest), 'weave_size'));
    return offset > end;
  }

  /** Also what both answers say of the chunk and of their own bytes, which is what a signature covers. */
  async function describe(request: Request, reply: Reply, found: FoundChunk, body: ChunkBody): Promise<void> {
    const { offset, chunk, owner } = found;
    const { bytes, contentType } = body;
    const resource = `chunk:${param(request, 'offset')}`;
    const charged = meter.charge(
      request,
      request.method === 'HEAD' ? 0 : bytes.length,
      resource,
      contentType,
    );
    if (charged !== undefined) reply.headers(await charged);
    const digest = hash('sha256', bytes, 'buffer');
    reply.headers({
      'content-type': contentType,
      'x-content-type-options': 'nosniff',
      'content-digest': `sha-256=:${digest.toString('base64')}:`,
      etag: `"${encodeBase64url(digest)}"`,
      'x-arweave-chunk-data-root': encodeBase64url(chunk.dataRoot),
      'x-arweave-chunk-relative-start-offset': String(chunk.relativeStart),
      'x-ar-io-chunk-source-type': 'arweave-network',
      'x-ar-io-chunk-host': new URL(chunk.url).host,
    });
    if (owner === undefined) return;
    const start = owner.start + chunk.relativeStart;
    reply.headers({
      'x-arweave-chunk-start-offset': String(start),
      'x-arweave-chunk-read-offset': String(offset - start),
      'x-arweave-chunk-tx-id': owner.id,
      'x-arweave-chunk-tx-data-size': String(owner.size),
      'x-arweave-chunk-tx-start-offset': String(owner.start),
    });
  }

  addGet(app, '/chunk/:offset', 'The chunk at a weave offset, with its proofs', async (request, reply) => {
    const found = await chunkOf(request);
    const { chunk, owner } = found;
    const json = {
      chunk: encodeBase64url(chunk.bytes),
      data_path: encodeBase64url(chunk.dataPath),
      tx_path: encodeBase64url(chunk.txPath),
      packing: 'unpacked',
    };
    const bytes = Buffer.from(JSON.stringify(json));
    await describe(request, reply, found, { bytes, contentType: 'application/json; charset=utf-8' });
    return cacheBy(reply, owner?.stable === true).send(bytes);
  });

  addGet(app, '/chunk/:offset/data', 'The bytes of the chunk at a weave offset', async (request, reply) => {
    const found = await chunkOf(request);
    const { chunk, owner } = found;
    const { bytes } = chunk;
    await describe(request, reply, found, { bytes, contentType: 'application/octet-stream' });
    // The JSON has the paths in itself.
    reply.headers({
      'x-arweave-chunk-data-path': encodeBase64url(chunk.dataPath),
      'x-arweave-chunk-tx-path': encodeBase64url(chunk.txPath),
    });
    return cacheBy(reply, owner?.stable === true).send(bytes);
  });
}
