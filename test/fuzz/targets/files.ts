/** Files that others publish, and those that are written for others to read. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { checkCdb64 } from '../../../src/formats/cdb64/check.ts';
import { findInCdb64 } from '../../../src/formats/cdb64/find.ts';
import { walkKeys } from '../../../src/formats/cdb64/keys.ts';
import { headerBytes, type ReadableFile } from '../../../src/formats/cdb64/layout.ts';
import { decodeRootEntry, encodeRootEntry } from '../../../src/formats/cdb64/root-entry.ts';
import { Cdb64Writer } from '../../../src/formats/cdb64/writer.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import {
  type Bencoded,
  type BencodedValue,
  bdecode,
  bencode,
  isDictionary,
} from '../../../src/formats/torrent/bencode.ts';
import { FileHasher, makeTorrent, withWebSeeds } from '../../../src/formats/torrent/torrent.ts';
import { Column } from '../../../src/gateway/export/parquet/column.ts';
import { ParquetFile } from '../../../src/gateway/export/parquet/file.ts';
import {
  encodeManifest,
  heightRangeOf,
  parseManifest,
} from '../../../src/gateway/published-indexes/bands/manifest.ts';
import { verifyPublication } from '../../../src/gateway/published-indexes/publication/document.ts';
import { optionsOf, readOrRefused, type Target } from '../target.ts';

/** A file in memory. */
class MemoryFile implements ReadableFile {
  bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  async read(buffer: Buffer, offset: number, length: number, position: number) {
    return { bytesRead: this.bytes.copy(buffer, offset, position, position + length) };
  }

  async write(buffer: Buffer, offset: number, length: number, position: number) {
    const end = position + length;
    if (end > this.bytes.length)
      this.bytes = Buffer.concat([this.bytes, Buffer.alloc(end - this.bytes.length)]);
    buffer.copy(this.bytes, position, offset, offset + length);
    return { bytesWritten: length };
  }
}

async function refusedBy<T>(running: Promise<T>): Promise<T | undefined> {
  try {
    return await running;
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

/** What follows the header of a file; the header is what its records make, with changes. */
async function cdbOf(records: readonly (readonly [Buffer, Buffer])[]): Promise<Buffer> {
  const file = new MemoryFile(Buffer.alloc(0));
  const writer = new Cdb64Writer(file);
  for (const [key, value] of records) await writer.add(key, value);
  await writer.finish();
  return file.bytes;
}
const someRecords = [1, 2, 3].map((key) => [Buffer.alloc(32, key), Buffer.from([key, 9])] as const);
const cdb = await cdbOf(someRecords);

/** Changes to a whole file: place and byte, three bytes each, so that inputs stay small. */
function changed(file: Buffer, changes: Buffer): Buffer {
  const out = Buffer.from(file);
  for (let at = 0; at + 3 <= changes.length; at += 3) {
    // Places count from the end: the header is long and mostly zeros.
    const place = out.length - 1 - (changes.readUInt16LE(at) % out.length);
    out[place] = changes[at + 2]!;
  }
  return out;
}

/** As it was, in the values that are written. */
function again(value: BencodedValue): Bencoded {
  if (Buffer.isBuffer(value) || typeof value === 'number') return value;
  if (isDictionary(value)) {
    return new Map([...value.members].map(([key, member]) => [Buffer.from(key, 'latin1'), again(member)]));
  }
  return value.map(again);
}

const torrent = (() => {
  const hasher = new FileHasher('00.cdb');
  hasher.update(Buffer.from('contents'));
  return makeTorrent({ name: 'band', files: [hasher.end()], webSeeds: ['https://example.com/'] });
})();

const publication = {
  version: 1,
  publisher: '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS',
  sequence: 3,
  previousManifestSha256: null,
  issuedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-02-01T00:00:00.000Z',
  indexes: [
    {
      name: 'root-tx',
      kind: 'cdb64',
      filter: { always: true },
      bands: [
        {
          id: 'a',
          files: [{ name: '00.cdb', size: 5, sha256: '0'.repeat(64) }],
          heightRange: [0, null],
          torrent: {
            infohashV1: '0'.repeat(40),
            infohashV2: '0'.repeat(64),
            magnet: 'magnet:?',
            torrentUrl: 'https://x/',
          },
          arweave: { manifestTxId: 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM' },
        },
      ],
    },
  ],
  signature: {
    alg: 'ed25519',
    keyId: '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS',
    sig: Buffer.alloc(64).toString('base64'),
  },
};

let folder = '';

export const targets: readonly Target[] = [
  {
    name: 'cdb64',
    longest: 600,
    seeds: () => ['', Buffer.from([0, 0, 1]), Buffer.from([60, 0, 200, 80, 0, 3]), Buffer.from([255, 15, 0])],
    async run(input) {
      const bytes = changed(cdb, input);
      const file = new MemoryFile(bytes);
      const records = await refusedBy(checkCdb64(file, bytes.length));
      const keys: Buffer[] = [];
      const isWalked =
        (await refusedBy(walkKeys(file, (key) => keys.push(Buffer.from(key))).then(() => true))) === true;
      const read = (position: number, length: number) => bytes.subarray(position, position + length);
      for (const [key] of someRecords)
        await refusedBy(findInCdb64(read, bytes.subarray(0, headerBytes), key));
      if (records === undefined) return;
      assert.ok(isWalked);
      assert.equal(keys.length, records);
      for (const key of keys) {
        assert.notEqual(await findInCdb64(read, bytes.subarray(0, headerBytes), key), undefined);
      }
    },
  },
  {
    name: 'cdb64-entry',
    seeds: () => [
      encodeRootEntry({ path: [Buffer.alloc(32, 1)] }),
      encodeRootEntry({
        path: [Buffer.alloc(32, 1), Buffer.alloc(32, 2)],
        offsets: { item: 100, data: 70_000, size: 2 ** 40 },
      }),
    ],
    run(input) {
      const entry = readOrRefused([FormatError], () => decodeRootEntry(input));
      if (entry !== undefined) assert.deepEqual(decodeRootEntry(encodeRootEntry(entry)), entry);
    },
  },
  {
    name: 'bencode',
    seeds: () => [torrent.bytes, 'd1:ai-5e1:bl3:abci0eee', 'le'],
    run(input) {
      const value = readOrRefused([FormatError], () => bdecode(input));
      if (value === undefined) return;
      const written = bencode(again(value));
      // Keys in another order than theirs are read all the same; their length is not changed by sorting.
      assert.equal(written.length, input.length);
      assert.deepEqual(bencode(again(bdecode(written))), written);
      const made = readOrRefused([FormatError], () => withWebSeeds(input, ['https://other.example/']));
      if (made !== undefined) {
        const next = withWebSeeds(made.bytes, []);
        assert.equal(next.infohashV1, made.infohashV1);
        assert.equal(next.infohashV2, made.infohashV2);
      }
    },
  },
  {
    name: 'band-manifest',
    seeds: () => [
      encodeManifest({
        createdAt: '2026-01-01T00:00:00.000Z',
        totalRecords: 3,
        partitions: [{ prefix: '0a', filename: '0a.cdb', recordCount: 3, size: 5_000 }],
        metadata: { heightRange: [0, null] },
      }),
    ],
    run(input) {
      const manifest = readOrRefused([FormatError], () => parseManifest(input));
      if (manifest === undefined) return;
      heightRangeOf(manifest);
      assert.deepEqual(parseManifest(encodeManifest(manifest)).partitions, manifest.partitions);
    },
  },
  {
    name: 'publication',
    seeds: () => [JSON.stringify(publication)],
    run(input) {
      assert.equal(
        readOrRefused([FormatError], () => verifyPublication(input)),
        undefined,
        'nobody signed this',
      );
    },
  },
  {
    name: 'parquet',
    longest: 1_000,
    async open() {
      folder = mkdtempSync(join(tmpdir(), 'turnpike-fuzz-'));
      return async () => rmSync(folder, { recursive: true, force: true });
    },
    seeds: () => [Buffer.from([3, 1, 2, 3, 4, 0, 9, 9, 9, 7, 7, 7]), Buffer.alloc(64, 5)],
    async run(input) {
      if (folder === '') folder = mkdtempSync(join(tmpdir(), 'turnpike-fuzz-'));
      const { bits, rest } = optionsOf(input);
      const numbers = new Column('numbers', 'uint64');
      const blobs = new Column('blobs', 'blob', { dictionary: (bits & 1) === 1 });
      const flags = new Column('flags', 'bool', { required: true });
      const path = join(folder, 'one.parquet');
      rmSync(path, { force: true });
      rmSync(`${path}.part`, { force: true });
      const file = new ParquetFile(`${path}.part`, [numbers, blobs, flags]);
      const rows: unknown[] = [];
      for (let at = 0; at + 3 <= rest.length; at += 3) {
        const [a = 0, b = 0, c = 0] = rest.subarray(at, at + 3);
        const number = a < 16 ? null : a * 2 ** (b % 45);
        const blob = b < 16 ? null : rest.subarray(at, at + (c % 40));
        numbers.number(number);
        if (blob === null) blobs.none();
        else blobs.blob(blob);
        flags.bool((c & 1) === 1);
        rows.push({
          numbers: number,
          blobs: blob === null ? null : blob.toString('hex'),
          flags: (c & 1) === 1,
        });
        if (c === 255) file.addGroup();
      }
      file.finish();
      file.moveTo(path);
      const got = await parquetReadObjects({
        file: new Uint8Array(readFileSync(path)).buffer,
        utf8: false,
        compressors: { ZSTD: (bytes) => new Uint8Array(zstdDecompressSync(bytes)) },
      });
      const plain = got.map((row) => ({
        numbers: row.numbers === null || row.numbers === undefined ? null : Number(row.numbers),
        blobs: row.blobs instanceof Uint8Array ? Buffer.from(row.blobs).toString('hex') : null,
        flags: row.flags,
      }));
      assert.deepEqual(plain, rows);
    },
  },
];
