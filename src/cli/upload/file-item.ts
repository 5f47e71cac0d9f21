/**
 * A file as a signed data item, without holding it in memory: it is read once for the signature, and again when it
 * is sent.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { parseItemHeader } from '../../formats/ans104/item-header.ts';
import type { TagSource } from '../../formats/avro-tags.ts';
import { DeepHashBlob } from '../../formats/deep-hash.ts';
import { StartupError } from '../../kernel/errors.ts';
import { type ItemSigner, signItemHeader } from '../../wallets/data-items/signer.ts';

export interface UploadItem {
  readonly id: string;
  readonly size: number;
  /** The bytes `start` (inclusive) to `end` (exclusive). */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
}

const pieceBytes = 1024 * 1024;

export async function fileItem(
  path: string,
  tags: readonly TagSource[],
  signer: ItemSigner,
): Promise<UploadItem> {
  const hash = new DeepHashBlob();
  for await (const bytes of createReadStream(path, { highWaterMark: pieceBytes })) hash.update(bytes);
  const size = hash.length;
  const header = await signedHeader(tags, signer, hash.digest());
  const modified = (await stat(path)).mtimeMs;
  return {
    id: header.id,
    size: header.bytes.length + size,
    async *read(start, end) {
      if (start < header.bytes.length) yield header.bytes.subarray(start, end);
      const from = Math.max(0, start - header.bytes.length);
      const to = end - header.bytes.length;
      if (from < to) yield* createReadStream(path, { start: from, end: to - 1, highWaterMark: pieceBytes });
      if ((await stat(path)).mtimeMs !== modified)
        throw new StartupError(`${path} changed while it was sent`);
    },
  };
}

export async function bytesItem(
  data: Buffer,
  tags: readonly TagSource[],
  signer: ItemSigner,
): Promise<UploadItem> {
  const header = await signedHeader(tags, signer, new DeepHashBlob().update(data).digest());
  const whole = Buffer.concat([header.bytes, data]);
  return {
    id: header.id,
    size: whole.length,
    async *read(start, end) {
      yield whole.subarray(start, end);
    },
  };
}

async function signedHeader(tags: readonly TagSource[], signer: ItemSigner, dataHash: Buffer) {
  const bytes = await signItemHeader({ tags }, signer, dataHash);
  const header = parseItemHeader(bytes);
  if (typeof header === 'string') throw new Error(`an item was made that is none: ${header}`);
  return { id: header.id, bytes };
}
