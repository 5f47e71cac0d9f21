import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DataItem, encodeItem, parseItem } from '../../formats/ans104/index.ts';
import { seededRandom } from '../../formats/testing/seeded-random.ts';
import { ed25519TestKey, ethereumTestKey } from '../testing/keys.ts';
import { ethereumSigner, signItem, solanaSigner, typedEthereumSigner } from './signer.ts';
import { verifyParsed } from './verify.ts';
import { verifyMany } from './verify-many.ts';

const random = seededRandom(131);

test('many items are judged as one by one: good, forged, of several keys and types, and of keys that are none', async () => {
  const signers = [
    ethereumSigner(ethereumTestKey('many')),
    ethereumSigner(ethereumTestKey('few')),
    solanaSigner(ed25519TestKey('many')),
    typedEthereumSigner(ethereumTestKey('many')),
  ];
  const items: DataItem[] = [];
  const add = (bytes: Buffer) => {
    const item = parseItem(bytes);
    assert.ok(typeof item !== 'string');
    items.push(item);
  };
  for (let i = 0; i < 160; i++) {
    const signer =
      i % 10 === 0 ? signers[1]! : i % 7 === 0 ? signers[2]! : i % 11 === 0 ? signers[3]! : signers[0]!;
    const bytes = await signItem({ data: random.bytes(random.below(300)) }, signer);
    if (i % 6 === 5) bytes[2 + random.below(65)]! ^= 1 << random.below(8);
    if (i % 13 === 3 && signer.signatureType === 3) bytes[66] = random.pick([0, 1, 26, 27, 28, 29, 255]);
    if (i % 17 === 4) bytes[bytes.length - 1]! ^= 1;
    add(bytes);
  }
  const offCurve = Buffer.concat([Buffer.from([4]), random.bytes(64)]);
  for (let i = 0; i < 30; i++) {
    add(
      encodeItem({ signatureType: 3, signature: random.bytes(65), owner: offCurve, data: random.bytes(10) }),
    );
  }
  for (const options of [{}, { lenient: true }]) {
    const expected = items.map((item) => (verifyParsed(item, options) ? 1 : 0));
    assert.deepEqual([...verifyMany(items, options)], expected);
    assert.ok(expected.includes(1) && expected.includes(0));
  }
});
