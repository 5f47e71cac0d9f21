import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import merkle from 'arweave/node/lib/merkle.js';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { encodeBase64url } from '../base64url.ts';
import { FormatError } from '../format-error.ts';
import { CHUNK_BYTES, chunkEnds, clientSplit, nodeSplit } from './chunks.ts';
import { DataRootBuilder, dataRootOf, dataTreeOf } from './data-root.ts';
import { verifyPath } from './proof.ts';

/** Byte i is i mod 251. */
function pattern(size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  for (let index = 0; index < size; index += 1) bytes[index] = index % 251;
  return bytes;
}

const withoutZeroLeaf = { ...clientSplit, zeroLeaf: false };

const vectors = [
  { size: 1, root: 'Ht_yZhXGBDUZfLv4OD6we7FkrjcpDpGPwQZEZgEJVfk', offsets: [0], paths: [64] },
  { size: 3, root: 'XCv9f1SWkgjayFaoehi8bdxf8hLzaJWmOtOPEsNyfdQ', offsets: [2], paths: [64] },
  { size: 262143, root: 'uzNiZl92JD1TtVRJpE6nQtvmpLBu8PJ_CL5UsfjR2Jg', offsets: [262142], paths: [64] },
  { size: 262144, root: 'gty7KB2baLFp7OGxuV2wBeX3NippS1tNVlMOZryIq5o', offsets: [262143], paths: [160] },
  {
    size: 262144,
    root: 'YZi7XfKPo5PRYP9XnM_oScKlEJ5CigeMbB1v7WEsofk',
    offsets: [262143],
    paths: [64],
    split: withoutZeroLeaf,
  },
  {
    size: 262145,
    root: 'kJKkN6QWAcUM_WQUxeNXnnwKy0fp7myUNNob6XNlOPA',
    offsets: [131072, 262144],
    paths: [160, 160],
  },
  { size: 294911, root: 'ftgH8HjzmYUv7zYP-oTk5XovsehoyoBTxQA8t2waFIQ', offsets: [147455, 294910] },
  { size: 294912, root: 'qk73Qz9Ymp1tr4dzJw_hTDS1VoVwBeLLNwkytN1sBYY', offsets: [262143, 294911] },
  {
    size: 524288,
    root: 'H2bNmvftzAlIQXVYCetFsJ9f0uoC4C2FbfivZTRSyqI',
    offsets: [262143, 524287],
    paths: [256, 256],
  },
  { size: 524288, root: 'cMQemMMots_NMLjYx5-Nh2u7sAnmsn4a8EwIHJvnBCE', split: withoutZeroLeaf },
  {
    size: 524289,
    root: 'WcX8mA4WyuesuXU79b4KCuDZR4HElqDZ3Yl4bnH9vTM',
    offsets: [262143, 393216, 524288],
    paths: [256, 256, 160],
  },
  {
    size: 1000000,
    root: 'MHR4bpGWEpltYSNZTpIwVWIvNdYwzB98LIz2YElLDaQ',
    offsets: [262143, 524287, 786431, 999999],
    paths: [256, 256, 256, 256],
  },
];

for (const { size, root, offsets, paths, split = clientSplit } of vectors) {
  test(`the root and proofs of ${size} bytes ${split.zeroLeaf ? 'with' : 'without'} a zero leaf`, () => {
    const data = pattern(size);
    const tree = dataTreeOf(data, split);
    assert.equal(encodeBase64url(tree.root), root);
    const proofs = [...tree.proofs()];
    if (offsets !== undefined)
      assert.deepEqual(
        proofs.map((proof) => proof.offset),
        offsets,
      );
    if (paths !== undefined)
      assert.deepEqual(
        proofs.map((proof) => proof.dataPath.length),
        paths,
      );
    for (const { start, end, offset, dataPath } of proofs) {
      const leaf = verifyPath(tree.root, offset, size, dataPath, 'strict');
      assert.deepEqual(leaf, { data: hash('sha256', data.subarray(start, end), 'buffer'), start, end });
      assert.deepEqual(verifyPath(tree.root, start, size, dataPath, 'rebase'), leaf);
    }
  });
}

test('no data has an empty root and no chunk', () => {
  const tree = dataTreeOf(Buffer.alloc(0));
  assert.equal(tree.root.length, 0);
  assert.equal(tree.chunkCount, 0);
  assert.throws(() => tree.proof(0), FormatError);
});

test('pieces of any size give the tree of the whole', () => {
  const random = seededRandom(11);
  const sizes = [
    0, 1, 32_768, 262_143, 262_144, 262_145, 294_911, 294_912, 294_913, 524_288, 557_055, 900_001,
  ];
  for (const size of sizes) {
    const data = pattern(size);
    for (const split of [clientSplit, nodeSplit, withoutZeroLeaf]) {
      const whole = dataTreeOf(data, split);
      for (const most of [40_000, 300_000, 700_000]) {
        const builder = new DataRootBuilder(split);
        for (let at = 0; at < size; ) {
          const piece = Buffer.from(data.subarray(at, at + random.between(1, most)));
          builder.update(piece);
          at += piece.length;
          piece.fill(0);
        }
        const tree = builder.finish();
        assert.deepEqual(tree.root, whole.root, `${size} ${split.style} ${most}`);
        assert.deepEqual([...tree.proofs()], [...whole.proofs()]);
        assert.throws(() => builder.update(Buffer.alloc(1)), FormatError);
      }
    }
  }
});

test('the two splitters differ only where a last chunk would be small', () => {
  const size = 2 * CHUNK_BYTES + 1_000;
  assert.deepEqual([...chunkEnds(size, clientSplit)], [262_144, 393_716, 525_288]);
  assert.deepEqual([...chunkEnds(size, nodeSplit)], [262_144, 524_288, 525_288]);
  assert.deepEqual([...chunkEnds(2 * CHUNK_BYTES + 32_768)], [262_144, 524_288, 557_056]);
});

test('random data agrees with the arweave package in both directions', async () => {
  const random = seededRandom(12);
  for (let round = 0; round < 12; round += 1) {
    const size = random.pick([
      random.between(1, 400_000),
      random.between(1, 5) * CHUNK_BYTES + random.below(40_000),
    ]);
    const data = random.bytes(size);
    const ours = dataTreeOf(data);
    const theirs = await merkle.generateTransactionChunks(new Uint8Array(data));
    assert.deepEqual(ours.root, Buffer.from(theirs.data_root));
    const proofs = [...ours.proofs()];
    assert.equal(proofs.length, theirs.chunks.length);
    for (const [index, proof] of proofs.entries()) {
      assert.deepEqual(proof.dataPath, Buffer.from(theirs.proofs[index]?.proof ?? []));
      assert.equal(proof.offset, theirs.proofs[index]?.offset);
      const accepted = await merkle.validatePath(ours.root, proof.offset, 0, size, proof.dataPath);
      assert.ok(
        accepted !== false && accepted.leftBound === proof.start && accepted.rightBound === proof.end,
      );
    }
  }
});

test('a data root of bytes equals the one of the stream of the same bytes', () => {
  const data = pattern(700_000);
  assert.deepEqual(dataRootOf(data), dataTreeOf(data).root);
});
