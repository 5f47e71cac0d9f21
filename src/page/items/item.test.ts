import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  arweaveSigner,
  ed25519Signer,
  ethereumSigner,
  type ItemSigner as ServerSigner,
  solanaSigner,
} from '../../wallets/data-items/signer.ts';
import { verifyItem } from '../../wallets/data-items/verify.ts';
import { testArweaveKey, testEd25519Key, testEthereumKey } from '../../wallets/testing/keys.ts';
import { areItemTags, type ItemSigner, itemBytes, signFile } from './item.ts';
import { type HashingOptions, hashItem } from './item-message.ts';

/** A wallet of the page over a key of the product. */
function walletOf({ signatureType, owner, sign }: ServerSigner): ItemSigner {
  if (signatureType > 4) throw new Error('no wallet signs so');
  return {
    signatureType: signatureType as ItemSigner['signatureType'],
    publicKey: async () => owner,
    signItem: (message) => sign(Buffer.from(message)),
  };
}

const wallets = [
  arweaveSigner(testArweaveKey),
  ed25519Signer(testEd25519Key),
  ethereumSigner(testEthereumKey),
  solanaSigner(testEd25519Key),
].map(walletOf);
const tags = [
  { name: 'Content-Type', value: 'text/plain' },
  { name: 'Título ☃', value: 'x'.repeat(300) },
];

const make = (wallet: ItemSigner, file: Blob, options: HashingOptions = {}, with_ = tags) =>
  signFile(wallet, file, with_, (fields, data) => hashItem(fields, data, options));

async function bytesOf(header: Uint8Array<ArrayBuffer>, file: Blob): Promise<Buffer> {
  return Buffer.from(await new Blob([header, file]).arrayBuffer());
}

test('items of each kind of wallet are what the product verifies', async () => {
  const file = new Blob(['some bytes']);
  for (const wallet of wallets) {
    const made = await make(wallet, file);
    const bytes = await bytesOf(made.header, file);
    const item = verifyItem(bytes);
    assert.ok(typeof item === 'object', `type ${wallet.signatureType}: ${String(item)}`);
    assert.equal(item.header.id, made.id);
    assert.deepEqual(item.header.tags, tags);
    assert.equal(item.data.toString(), 'some bytes');
    assert.equal(made.size, bytes.length);
    assert.equal(itemBytes(wallet.signatureType, tags, file.size), bytes.length);
  }
});

test('a file is hashed alike whole and in pieces, whatever its size', async () => {
  const fields = { signatureType: 2, owner: new Uint8Array(32), tagBytes: new Uint8Array() };
  const piece = 4 * 1024 * 1024;
  for (const size of [0, 1, piece - 1, piece, piece + 1, 2 * piece + 3]) {
    const file = new Blob([new Uint8Array(size).fill(7)]);
    const read: number[] = [];
    const whole = await hashItem(fields, file, { wholeBytes: size });
    const pieces = await hashItem(fields, file, { wholeBytes: -1, onRead: (bytes) => read.push(bytes) });
    assert.deepEqual(pieces, whole, `${size} bytes`);
    if (size > 0) assert.equal(read.at(-1), size);
  }
});

test('an empty file without tags is an item', async () => {
  const [, wallet] = wallets;
  assert.ok(wallet !== undefined);
  const made = await make(wallet, new Blob([]), {}, []);
  assert.ok(typeof verifyItem(Buffer.from(made.header)) === 'object');
});

test('tags beyond what an item may carry are refused before anything is signed', async () => {
  const tooLong = [{ name: 'a', value: 'x'.repeat(4_096) }];
  const tooMany = Array.from({ length: 129 }, (_, index) => ({ name: 'n', value: String(index) }));
  assert.equal(areItemTags(tooLong), false);
  assert.equal(areItemTags(tooMany), false);
  assert.equal(areItemTags(tags), true);
  let signed = 0;
  const wallet: ItemSigner = {
    signatureType: 2,
    publicKey: async () => new Uint8Array(32),
    signItem: async () => {
      signed++;
      return new Uint8Array(64);
    },
  };
  await assert.rejects(make(wallet, new Blob(['x']), {}, tooLong), /limits/);
  assert.equal(signed, 0);
});

test('a wallet that answers a signature of another form is told so', async () => {
  const wallet: ItemSigner = {
    signatureType: 1,
    publicKey: async () => new Uint8Array(512),
    signItem: async () => new Uint8Array(64),
  };
  await assert.rejects(make(wallet, new Blob(['x'])), /another form/);
});
