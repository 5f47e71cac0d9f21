/** Items and bundles agree with the reference library, written here and read there and the other way round. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  ArweaveSigner,
  Bundle,
  bundleAndSignData,
  createData,
  DataItem,
  EthereumSigner,
  HexSolanaSigner,
  deepHash as referenceDeepHash,
  SolanaSigner,
  TypedEthereumSigner,
} from '@dha-team/arbundles/node';
import { encodeBundleHeader, parseBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { itemMessage, parseItem } from '../../src/formats/ans104/item.ts';
import { encodeBase58 } from '../../src/formats/base58.ts';
import { deepHash } from '../../src/formats/deep-hash.ts';
import { exportJwk } from '../../src/wallets/arweave/rsa.ts';
import {
  arweaveSigner,
  ed25519Signer,
  ethereumSigner,
  signItem,
  solanaSigner,
  typedEthereumSigner,
} from '../../src/wallets/data-items/signer.ts';
import { verifyItem } from '../../src/wallets/data-items/verify.ts';
import { ed25519PrivateKey, ed25519RawPublicKey } from '../../src/wallets/solana/ed25519.ts';
import { testArweaveKey, testEthereumKey } from '../../src/wallets/testing/keys.ts';
import { seededRandom } from '../support/seeded-random.ts';

const random = seededRandom(104);
const seed = createHash('sha256').update('client test seed').digest();
const edKey = ed25519PrivateKey(seed);
const solanaSecret = encodeBase58(Buffer.concat([seed, ed25519RawPublicKey(edKey)]));

const wallets = {
  arweave: [arweaveSigner(testArweaveKey), new ArweaveSigner(exportJwk(testArweaveKey)), 6],
  ed25519: [ed25519Signer(edKey), new SolanaSigner(solanaSecret), 40],
  ethereum: [ethereumSigner(testEthereumKey), new EthereumSigner(testEthereumKey.toString('hex')), 40],
  solana: [solanaSigner(edKey), new HexSolanaSigner(solanaSecret), 40],
  typedEthereum: [
    typedEthereumSigner(testEthereumKey),
    new TypedEthereumSigner(testEthereumKey.toString('hex')),
    20,
  ],
} as const;

const text = (length: number) => random.bytes(length).toString('base64').slice(0, length);

function randomContents() {
  return {
    data: random.bytes(random.below(3_000)),
    tags: Array.from({ length: random.below(6) }, () => ({
      name: text(1 + random.below(30)),
      value: text(1 + random.below(90)),
    })),
    target: random.below(2) === 0 ? random.bytes(32) : undefined,
    anchor: random.below(2) === 0 ? text(32) : undefined,
  };
}

for (const [name, [ours, theirs, rounds]] of Object.entries(wallets)) {
  describe(name, () => {
    test('items written here are valid there, with the same fields', async () => {
      for (let round = 0; round < rounds; round++) {
        const contents = randomContents();
        const bytes = await signItem(
          {
            data: contents.data,
            tags: contents.tags,
            ...(contents.target === undefined ? {} : { target: contents.target }),
            ...(contents.anchor === undefined ? {} : { anchor: Buffer.from(contents.anchor) }),
          },
          ours,
        );
        assert.equal(await DataItem.verify(bytes), true);
        const item = new DataItem(bytes);
        const mine = parseItem(bytes);
        assert.ok(typeof mine !== 'string');
        assert.equal(item.id, mine.header.id);
        assert.deepEqual(item.tags, contents.tags);
        assert.equal(item.rawData.equals(contents.data), true);
        assert.equal(item.target, contents.target?.toString('base64url') ?? '');
        assert.ok(Buffer.from(await item.getSignatureData()).equals(itemMessage(mine)));
      }
    });

    test('items written there are valid here, with the same fields', async () => {
      for (let round = 0; round < rounds; round++) {
        const contents = randomContents();
        const item = createData(contents.data, theirs, {
          tags: contents.tags,
          ...(contents.target === undefined ? {} : { target: contents.target.toString('base64url') }),
          ...(contents.anchor === undefined ? {} : { anchor: contents.anchor }),
        });
        await item.sign(theirs);
        const bytes = item.getRaw();
        const mine = verifyItem(bytes);
        assert.ok(typeof mine !== 'string', String(mine));
        assert.equal(mine.header.id, item.id);
        assert.deepEqual(mine.header.tags, contents.tags);
        assert.ok(mine.data.equals(contents.data));
        assert.equal(mine.header.anchor.toString(), contents.anchor ?? '');
        assert.equal(mine.header.target.toString('base64url'), contents.target?.toString('base64url') ?? '');
      }
    });
  });
}

test('bundles written here are valid there', async () => {
  const items: Buffer[] = [];
  for (const word of ['one', 'two', 'three']) {
    items.push(
      await signItem({ data: Buffer.from(word), tags: [{ name: 'n', value: word }] }, wallets.solana[0]),
    );
  }
  const entries = items.map((bytes) => {
    const item = parseItem(bytes);
    assert.ok(typeof item !== 'string');
    return { id: item.header.idBytes, size: bytes.length };
  });
  const bundle = new Bundle(Buffer.concat([encodeBundleHeader(entries), ...items]));
  assert.equal(await bundle.verify(), true);
  assert.deepEqual(
    bundle.items.map((item) => item.rawData.toString()),
    ['one', 'two', 'three'],
  );
});

test('bundles written there are read here', async () => {
  const signer = wallets.ethereum[1];
  const bundle = await bundleAndSignData(
    Array.from({ length: 20 }, (_, index) =>
      createData(`item ${index}`, signer, { tags: [{ name: 'i', value: String(index) }] }),
    ),
    signer,
  );
  const bytes = bundle.getRaw();
  const header = parseBundleHeader(bytes);
  assert.ok(typeof header !== 'string');
  assert.equal(header.count, 20);
  for (let index = 0; index < 20; index++) {
    const item = verifyItem(bytes.subarray(header.offsets[index]!, header.offsets[index + 1]!));
    assert.ok(typeof item !== 'string', String(item));
    assert.equal(item.data.toString(), `item ${index}`);
    assert.equal(item.header.id, header.id(index));
  }
});

test('deep hashes agree on random trees', async () => {
  type Tree = Uint8Array | Tree[];
  const tree = (depth: number): Tree =>
    depth === 0 || random.below(3) === 0
      ? new Uint8Array(random.bytes(random.below(100)))
      : Array.from({ length: random.below(4) }, () => tree(depth - 1));
  for (let round = 0; round < 200; round++) {
    const sample = tree(3);
    assert.ok(deepHash(sample).equals(Buffer.from(await referenceDeepHash(sample))));
  }
});
