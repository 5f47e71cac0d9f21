/** The tasks behind `verifyAll`, run on worker threads: many items in, one byte of verdict per item out. */
import { type FileHandle, open } from 'node:fs/promises';
import { type DataItem, parseItem } from '../../formats/ans104/item.ts';
import { ItemParser } from '../../formats/ans104/item-parser.ts';
import { type ItemProblem, itemProblemCodes } from '../../formats/ans104/item-problem.ts';
import { verifyStreamed } from './verify.ts';
import type { ItemPlaces, ItemsInFile, ItemsInMemory, Verdicts } from './verify-all.ts';
import { verifyMany } from './verify-many.ts';

export async function verifyItems(items: ItemsInMemory | ItemsInFile): Promise<Verdicts> {
  return 'path' in items ? await verifyFile(items) : verifyInMemory(items);
}

function verdictOf(problem: ItemProblem | undefined): number {
  return problem === undefined ? 0 : itemProblemCodes.indexOf(problem) + 1;
}

function verifyInMemory(items: ItemsInMemory): Verdicts {
  const { buffer, byteOffset, byteLength } = items.bytes;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const verdicts = new Uint8Array(items.sizes.length);
  const read: DataItem[] = [];
  const places: number[] = [];
  for (let i = 0; i < verdicts.length; i++) {
    const start = items.offsets[i]!;
    const item = parseItem(bytes.subarray(start, start + items.sizes[i]!), items);
    if (typeof item === 'string') verdicts[i] = verdictOf(item);
    else if (!hasId(items, i, item.header)) verdicts[i] = verdictOf('id-mismatch');
    else places[read.push(item) - 1] = i;
  }
  for (const [at, valid] of verifyMany(read, items).entries()) {
    if (valid === 0) verdicts[places[at]!] = verdictOf('signature');
  }
  return verdicts;
}

/** Reads at most this much of a file at once. */
const pieceBytes = 1 << 20;

async function verifyFile(items: ItemsInFile): Promise<Verdicts> {
  const file = await open(items.path, 'r');
  try {
    const verdicts = new Uint8Array(items.sizes.length);
    const piece = Buffer.allocUnsafe(pieceBytes);
    for (let i = 0; i < verdicts.length; i++) {
      verdicts[i] = verdictOf(await verifyInFile(file, piece, items, i));
    }
    return verdicts;
  } finally {
    await file.close();
  }
}

async function verifyInFile(
  file: FileHandle,
  piece: Buffer,
  items: ItemPlaces,
  index: number,
): Promise<ItemProblem | undefined> {
  const parser = new ItemParser(items);
  let at = items.offsets[index]!;
  const end = at + items.sizes[index]!;
  while (at < end) {
    const { bytesRead } = await file.read(piece, 0, Math.min(pieceBytes, end - at), at);
    if (bytesRead === 0) return 'truncated';
    const pushed = parser.push(piece.subarray(0, bytesRead));
    if (typeof pushed === 'string') return pushed;
    at += bytesRead;
  }
  const finished = parser.finish();
  if (typeof finished === 'string') return finished;
  if (!hasId(items, index, finished.header)) return 'id-mismatch';
  return verifyStreamed(finished, items) ? undefined : 'signature';
}

function hasId(items: ItemPlaces, index: number, header: { readonly idBytes: Buffer }): boolean {
  return items.ids === undefined || header.idBytes.equals(items.ids.subarray(index * 32, index * 32 + 32));
}
