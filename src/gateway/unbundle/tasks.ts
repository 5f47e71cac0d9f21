/**
 * What worker threads do for the unbundler: read, verify and hash a batch of items, and hand back their headers in
 * columns. Bytes come in by transfer and results go out by transfer; nothing is copied between threads.
 */
import { hash } from 'node:crypto';
import { type DataItem, parseItem } from '../../formats/ans104/item.ts';
import { type ItemProblem, itemProblemCodes } from '../../formats/ans104/item-problem.ts';
import { joinBytes } from '../../formats/join-bytes.ts';
import { Transferred } from '../../kernel/pool/protocol.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { verifyParsed } from '../../wallets/data-items/verify.ts';
import { packTags } from '../chain-index/tags.ts';
import { type ItemBatch, lengthCells, type ReadBatch, rawTagsOf } from './item-columns.ts';

export function readItems(batch: ItemBatch): Transferred<ReadBatch> {
  const count = batch.sizes.length;
  const verdicts = new Uint8Array(count);
  const lengths = new Uint32Array(count * lengthCells);
  const digests = new Uint8Array(count * 64);
  const fields: Uint8Array[] = [];
  const bytes = Buffer.from(batch.bytes);
  for (let at = 0; at < count; at += 1) {
    const start = batch.offsets[at] ?? 0;
    const stated = batch.ids.subarray(at * 32, at * 32 + 32);
    const item = readItem(bytes.subarray(start, start + (batch.sizes[at] ?? 0)), stated);
    if (typeof item === 'string') {
      verdicts[at] = itemProblemCodes.indexOf(item) + 1;
      continue;
    }
    const { header, data } = item;
    const tags = packTags(rawTagsOf(header));
    const parts = [header.signature, header.owner, header.target, header.anchor, tags];
    fields.push(...parts);
    lengths.set([header.signatureType, header.length, ...parts.map((part) => part.length)], at * lengthCells);
    digests.set(itemOwner(header.signatureType, header.owner).digest, at * 64);
    digests.set(hash('sha256', data, 'buffer'), at * 64 + 32);
  }
  const joined = joinBytes(fields);
  return new Transferred({ verdicts, lengths, fields: joined, digests }, [
    verdicts.buffer,
    lengths.buffer,
    joined.buffer,
    digests.buffer,
  ]);
}

/** The item, or what is wrong with it. Its id is compared first, which is cheaper than its signature. */
function readItem(bytes: Buffer, statedId: Uint8Array): DataItem | ItemProblem {
  const item = parseItem(bytes, { lenient: true });
  if (typeof item === 'string') return item;
  if (!item.header.idBytes.equals(statedId)) return 'id-mismatch';
  return verifyParsed(item, { lenient: true }) ? item : 'signature';
}
