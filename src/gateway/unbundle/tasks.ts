/**
 * What worker threads do for the unbundler: read, verify and hash a batch of items, and hand back their headers in
 * columns. Bytes come in by transfer and results go out by transfer; nothing is copied between threads.
 */
import { hash } from 'node:crypto';
import { type DataItem, parseItem } from '../../formats/ans104/item.ts';
import { type ItemProblem, itemProblemCodes } from '../../formats/ans104/item-problem.ts';
import { Transferred } from '../../kernel/pool/protocol.ts';
import { verifyMany } from '../../wallets/data-items/verify-many.ts';
import { packTags } from '../chain-index/tags.ts';
import { type ItemBatch, lengthCells, type ReadBatch, rawTagsOf } from './item-columns.ts';

export function readItems(batch: ItemBatch): Transferred<ReadBatch> {
  const count = batch.sizes.length;
  const verdicts = new Uint8Array(count);
  const lengths = new Uint32Array(count * lengthCells);
  const digests = new Uint8Array(count * 64);
  const fields: Uint8Array[] = [];
  const { items, places } = parseAll(batch, verdicts);
  // Signatures of one key are cheaper together; the verdict is each item's own, so that a bad one costs only itself.
  const valid = verifyMany(items, { lenient: true });
  for (const [index, { header, data }] of items.entries()) {
    const at = places[index] ?? 0;
    if (valid[index] !== 1) {
      verdicts[at] = verdictOf('signature');
      continue;
    }
    const tags = packTags(rawTagsOf(header));
    const parts = [header.signature, header.owner, header.target, header.anchor, tags];
    fields.push(...parts);
    lengths.set([header.signatureType, header.length, ...parts.map((part) => part.length)], at * lengthCells);
    digests.set(hash('sha256', header.owner, 'buffer'), at * 64);
    digests.set(hash('sha256', data, 'buffer'), at * 64 + 32);
  }
  const joined = join(fields);
  return new Transferred({ verdicts, lengths, fields: joined, digests }, [
    verdicts.buffer,
    lengths.buffer,
    joined.buffer,
    digests.buffer,
  ]);
}

/** The items that are well formed and have the ids the bundle states, with their places in the batch. */
function parseAll(batch: ItemBatch, verdicts: Uint8Array): { items: DataItem[]; places: number[] } {
  const items: DataItem[] = [];
  const places: number[] = [];
  const bytes = Buffer.from(batch.bytes);
  for (let at = 0; at < verdicts.length; at += 1) {
    const start = batch.offsets[at] ?? 0;
    const item = parseItem(bytes.subarray(start, start + (batch.sizes[at] ?? 0)), { lenient: true });
    const stated = batch.ids.subarray(at * 32, at * 32 + 32);
    if (typeof item === 'string') verdicts[at] = verdictOf(item);
    else if (!item.header.idBytes.equals(stated)) verdicts[at] = verdictOf('id-mismatch');
    else places[items.push(item) - 1] = at;
  }
  return { items, places };
}

function verdictOf(problem: ItemProblem): number {
  return itemProblemCodes.indexOf(problem) + 1;
}

function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
