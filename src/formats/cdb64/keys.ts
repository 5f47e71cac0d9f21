/** The keys of a CDB64 file, in the order in which they were written. */
import { FormatError } from '../format-error.ts';
import { getUint64, headerBytes, type ReadableFile, readFully } from './layout.ts';
import { walkRecords } from './tables.ts';

/** `visit` gets bytes that are overwritten after it returns. */
export async function walkKeys(file: ReadableFile, visit: (key: Buffer) => void): Promise<void> {
  const header = Buffer.alloc(headerBytes);
  if ((await readFully(file, header, headerBytes, 0)) < headerBytes)
    throw new FormatError('the file has no header');
  await walkRecords(file, getUint64(header, 0), (bytes, at, keyBytes) =>
    visit(bytes.subarray(at, at + keyBytes)),
  );
}
