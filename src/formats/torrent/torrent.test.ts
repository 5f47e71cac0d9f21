import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { encodeRootEntry } from '../cdb64/root-entry.ts';
import { Cdb64Writer } from '../cdb64/writer.ts';
import { FormatError } from '../format-error.ts';
import { bencode } from './bencode.ts';
import { FileHasher, makeTorrent, torrentName, withWebSeeds } from './torrent.ts';

/** The first bytes of SHA-256(seed 0), SHA-256(seed 1) … */
function generated(length: number, seed: string): Buffer {
  const pieces: Buffer[] = [];
  for (let index = 0; index * 32 < length; index += 1)
    pieces.push(createHash('sha256').update(`${seed}${index}`).digest());
  return Buffer.concat(pieces).subarray(0, length);
}

function torrentOf(files: Readonly<Record<string, Buffer>>, name: string, pieceLength: number) {
  const hashed = Object.entries(files).map(([file, bytes]) => {
    const hasher = new FileHasher(file, pieceLength);
    for (let at = 0; at < bytes.length; at += 100_001) hasher.update(bytes.subarray(at, at + 100_001));
    return hasher.end();
  });
  return makeTorrent({ name, files: hashed, pieceLength });
}

async function bandA(): Promise<Record<string, Buffer>> {
  const bytes = Buffer.alloc(4223);
  const writer = new Cdb64Writer({
    read: async (buffer, offset, length, position) => ({
      bytesRead: bytes.copy(buffer, offset, position, position + length),
    }),
    write: async (buffer, offset, length, position) => ({
      bytesWritten: buffer.copy(bytes, position, offset, offset + length),
    }),
  });
  const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
  const root = Buffer.from(Array.from({ length: 32 }, (_, index) => 0xa0 + index));
  await writer.add(key, encodeRootEntry({ path: [root], offsets: { item: 1024, data: 1536 } }));
  await writer.finish();
  const manifest = {
    version: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    totalRecords: 1,
    partitions: [
      { prefix: '00', location: { type: 'file', filename: '00.cdb' }, recordCount: 1, size: 4223 },
    ],
    metadata: { heightRange: [0, 99] },
  };
  return { '00.cdb': bytes, 'manifest.json': Buffer.from(JSON.stringify(manifest, null, 2)) };
}

test('dictionaries are sorted by raw keys', () => {
  assert.equal(
    bencode(
      new Map<string, string | number | string[]>([
        ['b', ['x']],
        ['a', -1],
      ]),
    ).toString(),
    'd1:ai-1e1:bl1:xee',
  );
});

test('the torrent name follows the rule of the contract', async () => {
  const files = Object.entries(await bandA()).map(([name, bytes]) => ({
    name,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }));
  assert.equal(torrentName(files), 'bc6d1aff47b657ca');
  assert.equal(torrentName(files.toReversed()), 'bc6d1aff47b657ca');
});

test('infohashes are those that libtorrent computes', async () => {
  const a = await bandA();
  const small = torrentOf(a, 'bc6d1aff47b657ca', 262_144);
  assert.equal(small.info.length, 471);
  assert.equal(small.infohashV1, '364e5d7acb0920d71db98c7106830dc9bd678f7b');
  assert.equal(small.infohashV2, '2948760d6738829fdb1ae6691c6cd0728192c53305c020e8b216335f6f2d1e28');
  assert.equal(
    torrentOf(a, 'bc6d1aff47b657ca', 4_194_304).infohashV1,
    '58ba711192cd86aa8995bfc96306ebfbe785b8bf',
  );
  const b = {
    '00.cdb': generated(700_000, 'a'),
    '01.cdb': generated(262_144, 'b'),
    'ff.cdb': generated(100, 'c'),
    'manifest.json': Buffer.from('{}'),
  };
  const large = torrentOf(b, '0123456789abcdef', 262_144);
  assert.equal(large.info.length, 819);
  assert.equal(large.infohashV1, 'c4ce2b1c9713891201822ecc9baf61480f72872b');
  assert.equal(large.infohashV2, 'd1f2b7bab1566e5728b760b296c587f7f6280804d9aa629c22fccec7f4c2afbb');
  const wide = torrentOf(b, '0123456789abcdef', 4_194_304);
  assert.equal(wide.infohashV1, 'e1e871c0eb2e10ac1c63d0a071eec5f563d7fcb2');
  assert.equal(wide.infohashV2, 'de9f0dc1f3704dc771177437000a98394787ac4810352117fda6d5e8f1f126dc');
});

test('a torrent made before gets other web seeds, loses its trackers, and keeps its infohashes', async () => {
  const made = torrentOf({ '00.cdb': generated(700_000, 'a'), '01.cdb': Buffer.alloc(0) }, 'band', 262_144);
  const tracked = Buffer.concat([
    Buffer.from('d8:announce22:http://gone.example/an'),
    made.bytes.subarray(1, -1),
    Buffer.from('8:url-listl18:http://old.example'),
    Buffer.from('ee'),
  ]);
  const { name, infohashV1, infohashV2, bytes } = withWebSeeds(tracked, ['http://new.example/']);
  assert.deepEqual([name, infohashV1, infohashV2], ['band', made.infohashV1, made.infohashV2]);
  const expected = Buffer.concat([
    made.bytes.subarray(0, -1),
    Buffer.from('8:url-listl19:http://new.example/ee'),
  ]);
  assert.ok(bytes.equals(expected));
  assert.ok(withWebSeeds(bytes, []).bytes.equals(made.bytes));
  for (const wrong of ['de', 'i1e', 'd4:infode12:piece layersdee', 'd4:infod4:name1:xee'])
    assert.throws(() => withWebSeeds(Buffer.from(wrong), []), FormatError, wrong);
});
