import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../test/support/random.ts';
import { FormatError } from '../format-error.ts';
import {
  bdecode,
  bencode,
  decodeHandshake,
  encodeHandshake,
  encodeMessage,
  encodeMetadata,
  FileHasher,
  fullBitfield,
  hasPiece,
  makeTorrent,
  type PeerMessage,
  PeerReader,
  packPeers,
  pieceHead,
  readAnnounceAnswer,
  readExtensions,
  readMetadata,
  readTorrentFile,
  readTorrentInfo,
  setPiece,
} from './index.ts';

const random = new Random(77);

test('bencoding is read exactly, and what is not exact is refused', () => {
  const value = bdecode(Buffer.from('d1:ai-3e1:bl0:2:xyee'));
  assert.ok('members' in Object(value));
  for (const text of [
    '',
    'i3',
    'i03e',
    'i-0e',
    'i1.5e',
    'ie',
    'i99999999999999999999e',
    '3:ab',
    '03:abc',
    '-1:a',
    'l',
    'd1:a',
    'd1:ae',
    'd1:ai1e1:ai2ee',
    'di1ei2ee',
    'i1ei2e',
    'x',
    `${'l'.repeat(40)}${'e'.repeat(40)}`,
  ])
    assert.throws(() => bdecode(Buffer.from(text)), FormatError, text);
});

test('random bytes are either a bencoded value or refused, never anything else', () => {
  const seeds = [
    bencode(new Map([['info', [1, 'two', new Map([['x', 3]])]]])),
    Buffer.from('d2:xxl1:ai5eee'),
  ];
  for (let round = 0; round < 5_000; round += 1) {
    const bytes = Buffer.from(seeds[round % seeds.length]!);
    for (let change = 0; change < 2; change += 1) bytes[random.below(bytes.length)] = random.below(256);
    try {
      bdecode(bytes);
    } catch (error) {
      assert.ok(error instanceof FormatError, String(error));
    }
  }
});

test('messages come through whatever pieces the stream is cut into', () => {
  const handshake = encodeHandshake('ab'.repeat(20), Buffer.alloc(20, 'p'));
  const messages: PeerMessage[] = [
    { kind: 'choke' },
    { kind: 'unchoke' },
    { kind: 'interested' },
    { kind: 'not interested' },
    { kind: 'have', piece: 70_000 },
    { kind: 'bitfield', bits: fullBitfield(19) },
    { kind: 'request', piece: 1, begin: 16_384, length: 16_384 },
    { kind: 'cancel', piece: 2 ** 32 - 1, begin: 0, length: 1 },
    { kind: 'piece', piece: 3, begin: 5, bytes: random.bytes(20_000) },
    { kind: 'extended', id: 2, payload: Buffer.from('de') },
  ];
  const stream = Buffer.concat([handshake, Buffer.alloc(4), ...messages.map(encodeMessage)]);
  for (let round = 0; round < 50; round += 1) {
    const reader = new PeerReader();
    const found: unknown[] = [];
    for (let at = 0; at < stream.length; ) {
      const end = Math.min(stream.length, at + 1 + random.below(round < 10 ? 7 : 9_000));
      found.push(...reader.push(stream.subarray(at, end)));
      at = end;
    }
    assert.deepEqual(found, [decodeHandshake(handshake), ...messages]);
  }
  assert.deepEqual(
    Buffer.concat([pieceHead({ piece: 3, begin: 5, length: 2 }), Buffer.from('xy')]),
    encodeMessage({ kind: 'piece', piece: 3, begin: 5, bytes: Buffer.from('xy') }),
  );
});

test('messages that no peer may send are refused', () => {
  const handshake = encodeHandshake('ab'.repeat(20), Buffer.alloc(20));
  assert.throws(() => new PeerReader().push(Buffer.alloc(68, 'x')), FormatError);
  for (const bytes of [
    Buffer.from('00100001', 'hex'),
    Buffer.from('000000020400', 'hex'),
    Buffer.from('00000002010000', 'hex'),
    Buffer.from('0000000306ffff', 'hex'),
    Buffer.from('0000000407000000', 'hex'),
    Buffer.from('0000000114', 'hex'),
  ]) {
    const reader = new PeerReader();
    reader.push(handshake);
    assert.throws(() => reader.push(bytes), FormatError, bytes.toString('hex'));
  }
});

test('a bitfield has one bit per piece and none to spare', () => {
  assert.equal(fullBitfield(11).toString('hex'), 'ffe0');
  assert.equal(fullBitfield(16).toString('hex'), 'ffff');
  const bits = Buffer.alloc(2);
  setPiece(bits, 9);
  setPiece(bits, 99);
  assert.deepEqual([hasPiece(bits, 9), hasPiece(bits, 8), hasPiece(bits, 99)], [true, false, false]);
});

test('metadata messages carry their bytes after the head', () => {
  const message = encodeMetadata(7, { kind: 'data', piece: 2, bytes: Buffer.from('abc') }, 99);
  assert.ok(message.kind === 'extended');
  assert.equal(message.payload.toString(), 'd8:msg_typei1e5:piecei2e10:total_sizei99eeabc');
  assert.deepEqual(readMetadata(message.payload), { kind: 'data', piece: 2, bytes: Buffer.from('abc') });
  assert.deepEqual(readExtensions(Buffer.from('d1:md11:ut_metadatai3ee13:metadata_sizei471ee')), {
    metadata: 3,
    infoBytes: 471,
  });
  assert.deepEqual(readExtensions(Buffer.from('d13:metadata_sizei999999999999ee')), {
    metadata: undefined,
    infoBytes: undefined,
  });
  assert.throws(() => readMetadata(Buffer.from('d8:msg_typei7e5:piecei0ee')), FormatError);
});

test('peers are packed and unpacked in both families', () => {
  const four = [{ host: '203.0.113.9', port: 6881 }];
  const six = [
    { host: '2001:db8:0:0:0:0:0:1', port: 1 },
    { host: '0:0:0:0:0:ffff:a00:1', port: 65_535 },
  ];
  const answer = bencode(
    new Map<string, Buffer | number>([
      ['interval', 120],
      ['peers', packPeers([...four, ...six], 4)],
      [
        'peers6',
        packPeers([...four, { host: '2001:db8::1', port: 1 }, { host: '::ffff:10.0.0.1', port: 65_535 }], 6),
      ],
    ]),
  );
  assert.deepEqual(readAnnounceAnswer(answer), { interval: 120, peers: [...four, ...six] });
  assert.deepEqual(
    readAnnounceAnswer(Buffer.from('d5:peersld2:ip9:127.0.0.14:porti9eed4:porti1eeee')).peers,
    [{ host: '127.0.0.1', port: 9 }],
  );
  assert.throws(() => readAnnounceAnswer(Buffer.from('d14:failure reason4:gonee')), /refuses: gone/);
});

function torrentOf(sizes: readonly number[]): Buffer {
  const files = sizes.map((size, at) => {
    const hasher = new FileHasher(`${at}.cdb`);
    hasher.update(Buffer.alloc(size, at + 1));
    return hasher.end();
  });
  return makeTorrent({ name: 'band', files, trackers: ['http://a.example/announce', 'udp://b.example'] })
    .bytes;
}

test('a torrent that we make is read back: files, where they start, trackers', () => {
  const { info, trackers, layers } = readTorrentFile(torrentOf([300_000, 0, 262_144, 5]));
  assert.deepEqual(trackers, ['http://a.example/announce', 'udp://b.example']);
  assert.ok(layers.length > 2);
  const { files, pieceCount, name, pieceLength } = readTorrentInfo(info);
  assert.deepEqual(
    [name, pieceLength, pieceCount, files.map(({ length, firstPiece }) => [length, firstPiece])],
    [
      'band',
      262_144,
      4,
      [
        [300_000, 0],
        [0, 2],
        [262_144, 2],
        [5, 3],
      ],
    ],
  );
});

test('torrents with other shapes are refused: folders, links, files inside a piece, wrong counts', () => {
  const { info } = readTorrentFile(torrentOf([300_000, 5]));
  const change = (from: string, to: string) => {
    const text = info.toString('latin1');
    assert.ok(text.includes(from), from);
    return Buffer.from(text.replace(from, to), 'latin1');
  };
  for (const wrong of [
    change('4:pathl5:0.cdbee', '4:pathl2:..5:0.cdbee'),
    change('4:attr1:p', '4:attr1:l'),
    change('12:piece lengthi262144e', '12:piece lengthi262145e'),
    change('12:piece lengthi262144e', '12:piece lengthi1024e'),
    change('6:lengthi300000e4:path', '6:lengthi300001e4:path'),
    change('6:lengthi5e4:path', '6:lengthi600000e4:path'),
    change('6:pieces60:', '6:pieces40:'),
    change('4:name4:band', '4:nama4:band'),
  ])
    assert.throws(() => readTorrentInfo(wrong), FormatError);
});
