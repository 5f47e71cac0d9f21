import assert from 'node:assert/strict';
import { test } from 'node:test';
import arweaveDeepHash from 'arweave/node/lib/deepHash.js';
import { seededRandom } from '../../test/support/seeded-random.ts';
import {
  DeepHashBlob,
  type DeepHashInput,
  deepHash,
  deepHashAppend,
  deepHashBlob,
  deepHashList,
} from './deep-hash.ts';

const hex = (input: DeepHashInput) => deepHash(input).toString('hex');

test('known hashes of blobs and lists', () => {
  assert.equal(
    hex(''),
    'fbf00cc444f5fea9dc3bedf62a13fba8ae87e7445fc910567a23bec4eb82fadb1143c433069314d8362983dc3c2e4a38',
  );
  assert.equal(
    hex('abc'),
    '71115a30152ebcffb6defbb643abc8ef76f01fe323f1d62340646085960f6e347cb2d8e9a46ddee655b3012c6131d4e0',
  );
  assert.equal(
    hex([]),
    'a69e7d37fdc7f040a9ec16aae84de24fab4a653dac4de0bd247e36bab9fe45d9289c5a04a893c95285812f5cefc9707a',
  );
  assert.equal(
    hex(['a', ['b', 'c']]),
    '30bce0a753c170f214f57dd0244bc29c76526aea405cd8bff8af8301a7d10424e1c57f63ab4d55070b99f48f72a8c2e7',
  );
  assert.equal(
    hex(['A'.repeat(43)]),
    '4af485ad21e7ba8f9bdddba0454b8ec1ef2bfa99cdc2cc2fe41cc5c68b58b91750e9061b4971487c594f4ba612abd6ad',
  );
  assert.equal(
    hex(['Bundlr', '0.2.0', 'A'.repeat(43), '1500200', '1700000000000']),
    'df83ffa1b0cad0cd60fc43dc0a19372cb47e945c68406d52f81cb0f374c223190d3361007fcceca68fc65a561c200d8d',
  );
});

test('a blob hashed in random pieces has the hash of the whole', () => {
  const random = seededRandom(4);
  for (let round = 0; round < 50; round += 1) {
    const bytes = random.bytes(random.below(5_000));
    const blob = new DeepHashBlob();
    for (let at = 0; at < bytes.length; ) {
      const next = at + random.between(1, 700);
      blob.update(bytes.subarray(at, next));
      at = next;
    }
    assert.equal(blob.length, bytes.length);
    assert.deepEqual(blob.digest(), deepHashBlob(bytes));
  }
});

test('a list built by appending element hashes equals the whole, and its head can be shared', () => {
  const head = deepHashAppend(deepHashList(3), deepHash('one'));
  for (const last of ['two', 'three']) {
    const list = deepHashAppend(deepHashAppend(head, deepHash('middle')), deepHash(last));
    assert.equal(list.toString('hex'), hex(['one', 'middle', last]));
  }
});

test('random trees agree with the arweave package', async () => {
  const random = seededRandom(5);
  const tree = (depth: number): Uint8Array[] | Uint8Array => {
    if (depth === 0 || random.below(3) === 0) return random.bytes(random.below(1_500));
    return Array.from({ length: random.below(6) }, () => tree(depth - 1)) as Uint8Array[];
  };
  const theirs = arweaveDeepHash.default ?? arweaveDeepHash;
  for (let round = 0; round < 100; round += 1) {
    const input = tree(4);
    assert.deepEqual(deepHash(input), Buffer.from(await theirs(input)));
  }
});
