/** `POST /chunk` and `GET /chunk/{offset}`. */
import { encodeBase64url, tryDecodeBase64url } from '../../../formats/base64url.ts';
import type { App, Request } from '../../../kernel/http/server.ts';
import {
  acceptChunk,
  chunkAtWeaveOffset,
  knowsDataRoot,
  type LocatedChunk,
  parseChunk,
} from '../chain/chunks.ts';
import type { LocalNode } from '../chain/local-node.ts';
import { badRequest, chunkRefused, NodeError } from '../errors.ts';
import type { FaultSettings, Faults } from '../faults.ts';
import { MAX_CHUNK_BODY_BYTES } from '../rules.ts';
import { addGet, param, parseBody, parseDigits, sendJsonText, sendText } from './answers.ts';

export function chunkRoutes(app: App, node: LocalNode, faults: Faults): void {
  app.post(
    '/chunk',
    {
      bodyLimit: MAX_CHUNK_BODY_BYTES,
      schema: { summary: 'Post a chunk with its proof, as JSON' },
      /** Who names the root in the headers learns that it is unknown before sending the body. */
      onRequest: async (request) => {
        const claimed = claimedRoot(request);
        if (claimed === undefined || (await knowsDataRoot(node.sql, claimed.dataRoot, claimed.dataSize)))
          return;
        throw chunkRefused('data_root_not_found');
      },
    },
    async (request, reply) => {
      await acceptChunk(node.sql, parseChunk(parseBody(request.body)));
      return sendText(reply, '');
    },
  );

  addGet(
    app,
    '/chunk/:offset',
    'The chunk at a weave offset (from 1), with its proofs',
    async (request, reply) => {
      const text = param(request, 'offset');
      if (!/^-?[0-9]{1,78}$/.test(text)) throw badRequest('invalid_offset');
      if (text.startsWith('-')) throw badRequest('offset_out_of_bounds');
      const offset = parseDigits(text);
      const chunk = offset === undefined ? undefined : await chunkAtWeaveOffset(node.sql, offset);
      if (chunk === undefined) throw new NodeError(404, '');
      const fault = faults.of(request);
      const bytes = fault === undefined ? chunk.bytes : damaged(chunk, fault);
      return sendJsonText(
        reply,
        `{"chunk":"${encodeBase64url(bytes)}","data_path":"${encodeBase64url(chunk.dataPath)}",` +
          `"tx_path":"${encodeBase64url(chunk.txPath)}","packing":"unpacked"}`,
      );
    },
  );
}

function claimedRoot(request: Request): { dataRoot: Buffer; dataSize: number } | undefined {
  const root = request.headers['arweave-data-root'];
  const size = request.headers['arweave-data-size'];
  if (typeof root !== 'string' || typeof size !== 'string') return undefined;
  const dataRoot = tryDecodeBase64url(root);
  const dataSize = parseDigits(size);
  return dataRoot?.length === 32 && dataSize !== undefined ? { dataRoot, dataSize } : undefined;
}

function damaged(chunk: LocatedChunk, fault: FaultSettings): Buffer {
  const bytes = Buffer.from(
    fault.truncateChunks === true ? chunk.bytes.subarray(0, chunk.bytes.length >> 1) : chunk.bytes,
  );
  if (fault.wrongChunks === true) for (const [index, byte] of bytes.entries()) bytes[index] = byte ^ 0xff;
  return bytes;
}
