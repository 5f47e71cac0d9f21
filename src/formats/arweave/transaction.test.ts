import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import Arweave from 'arweave';
import { arweaveTestAddress, arweaveTestKey, toRsaJwk } from '../../../test/support/keys.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { encodeBase64url } from '../base64url.ts';
import { FormatError } from '../format-error.ts';
import { dataRootOf } from './data-root.ts';
import { sha256 } from './merkle.ts';
import { newTransaction, type Transaction } from './transaction.ts';
import { parseTransactionJson, transactionToJson } from './transaction-json.ts';
import {
  ownerAddress,
  signatureData,
  signTransactionAsync,
  signTransactionEcdsa,
  transactionOwner,
  verifyTransactionAsync,
} from './transaction-signature.ts';

const arweave = Arweave.init({});
const small = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

const vector = () => {
  const data = Buffer.from(Array.from({ length: 262_145 }, (_, index) => index % 251));
  return newTransaction({
    lastTx: Buffer.alloc(48, 9),
    reward: 123_456_789n,
    dataSize: data.length,
    dataRoot: dataRootOf(data),
    tags: [
      { name: 'Bundle-Format', value: 'binary' },
      { name: 'Bundle-Version', value: '2.0.0' },
    ],
  });
};

test('the known version 2 transaction has its known signature data and id', async () => {
  const signed = await signTransactionAsync(vector(), arweaveTestKey, { saltLength: 0 });
  assert.equal(
    signatureData(signed).toString('hex'),
    'c15da83f930b6c44b02821120bb8e1436fc6345d0dc7717afeeef5d275fecd7e9769e20c307975a857870904e7e90ab0',
  );
  assert.equal(encodeBase64url(signed.id), '2kV9ZTM9GMI-6avhJEaQsHes793SG-uMYYDL8k3cy1o');
  assert.ok(await verifyTransactionAsync(signed));
  assert.equal(encodeBase64url(ownerAddress(signed) ?? Buffer.alloc(0)), arweaveTestAddress);
});

test('signatures of every salt length are good', async () => {
  for (const saltLength of [0, 20, 32, 222]) {
    const signed = await signTransactionAsync(vector(), small, { saltLength });
    assert.ok(await verifyTransactionAsync(signed));
  }
});

test('a changed field, signature, id or owner is noticed', async () => {
  const signed = await signTransactionAsync(vector(), small);
  const changed: Transaction[] = [
    { ...signed, reward: signed.reward + 1n },
    { ...signed, quantity: 1n },
    { ...signed, target: Buffer.alloc(32, 1) },
    { ...signed, lastTx: Buffer.alloc(48, 8) },
    { ...signed, tags: signed.tags.toReversed() },
    { ...signed, dataSize: signed.dataSize + 1 },
    { ...signed, dataRoot: Buffer.alloc(32) },
    { ...signed, denomination: 1 },
    { ...signed, id: Buffer.alloc(32) },
    { ...signed, owner: Buffer.alloc(256, 0xaa) },
    { ...signed, owner: Buffer.alloc(0) },
    { ...signed, signature: Buffer.alloc(256), id: sha256(Buffer.alloc(256)) },
    { ...signed, signature: Buffer.alloc(0), id: sha256(Buffer.alloc(0)) },
  ];
  for (const [index, transaction] of changed.entries()) {
    assert.equal(await verifyTransactionAsync(transaction), false, `change ${index}`);
  }
});

test('version 1 signs its data and ignores the root', async () => {
  const unsigned = newTransaction({
    format: 1,
    data: Buffer.from('old style'),
    target: Buffer.alloc(32, 3),
    quantity: 5n,
    reward: 1n,
    tags: [{ name: 'a', value: 'b' }],
  });
  const signed = await signTransactionAsync(unsigned, small);
  assert.ok(await verifyTransactionAsync(signed));
  assert.ok(await verifyTransactionAsync({ ...signed, dataRoot: Buffer.alloc(32) }));
  assert.equal(await verifyTransactionAsync({ ...signed, data: Buffer.from('new style') }), false);
});

test('ECDSA leaves the owner empty and recovers it', async () => {
  const privateKey = sha256(Buffer.from('chain ecdsa test key'));
  const signed = signTransactionEcdsa(vector(), privateKey);
  const again = signTransactionEcdsa({ ...vector(), reward: 5n }, privateKey);
  assert.equal(signed.owner.length, 0);
  assert.equal(signed.signature.length, 65);
  assert.ok(await verifyTransactionAsync(signed));
  assert.equal(transactionOwner(signed)?.length, 33);
  assert.deepEqual(transactionOwner(signed), transactionOwner(again));
  assert.notDeepEqual(transactionOwner({ ...signed, reward: 7n }), transactionOwner(signed));
  for (const recovery of [4, 27, 255]) {
    const signature = Buffer.concat([signed.signature.subarray(0, 64), Buffer.from([recovery])]);
    assert.equal(await verifyTransactionAsync({ ...signed, signature, id: sha256(signature) }), false);
  }
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = order - BigInt(`0x${signed.signature.subarray(32, 64).toString('hex')}`);
  const high = Buffer.concat([
    signed.signature.subarray(0, 32),
    Buffer.from(s.toString(16).padStart(64, '0'), 'hex'),
    Buffer.from([(signed.signature[64] ?? 0) ^ 1]),
  ]);
  assert.equal(await verifyTransactionAsync({ ...signed, signature: high, id: sha256(high) }), false);
  assert.throws(() => signTransactionEcdsa({ ...vector(), format: 1 }, privateKey), FormatError);
});

test('a denomination is signed and travels as a string', async () => {
  const signed = await signTransactionAsync({ ...vector(), denomination: 2 }, small);
  const json = transactionToJson(signed, 'header');
  assert.equal(json.denomination, '2');
  const parsed = parseTransactionJson(json);
  assert.ok(await verifyTransactionAsync(parsed));
  assert.equal(await verifyTransactionAsync({ ...parsed, denomination: 0 }), false);
});

test('what the arweave package signs we verify, and the other way round', async () => {
  const random = seededRandom(31);
  for (let round = 0; round < 8; round += 1) {
    const attributes = {
      ...(round % 4 === 2 ? {} : { data: random.bytes(random.between(1, 400_000)) }),
      last_tx: encodeBase64url(random.bytes(48)),
      reward: String(random.bits()),
      ...(round % 2 === 0
        ? { target: encodeBase64url(random.bytes(32)), quantity: String(random.bits()) }
        : {}),
    };
    const theirs = await arweave.createTransaction(attributes, arweaveTestKey);
    theirs.addTag(`name ${round}`, `välue ${random.bits()}`);
    const wallet = round === 0 ? arweaveTestKey : toRsaJwk(small);
    await arweave.transactions.sign(theirs, wallet);
    const parsed = parseTransactionJson(JSON.parse(JSON.stringify(theirs)));
    assert.ok(await verifyTransactionAsync(parsed), `round ${round}`);
    assert.deepEqual(parsed.dataRoot, dataRootOf(Buffer.from(theirs.data)));
    assert.deepEqual(signatureData(parsed), Buffer.from(await theirs.getSignatureData()));

    const ours = await signTransactionAsync(
      { ...parsed, reward: parsed.reward + 1n, data: Buffer.alloc(0) },
      small,
    );
    const mirrored = arweave.transactions.fromRaw(transactionToJson(ours, 'header'));
    assert.ok(await arweave.transactions.verify(mirrored), `round ${round}`);
  }
});

test('the JSON form comes back to the same transaction', async () => {
  const data = Buffer.from('inline');
  const signed = await signTransactionAsync(
    newTransaction({ data, dataRoot: dataRootOf(data), reward: 9n }),
    small,
  );
  assert.deepEqual(
    parseTransactionJson(JSON.parse(JSON.stringify(transactionToJson(signed, 'with data')))),
    signed,
  );
  assert.equal(transactionToJson(signed, 'header').data, '');
});

test('JSON that breaks a rule of the chain is refused with the field named', async () => {
  const data = Buffer.from('inline');
  const good = transactionToJson(
    await signTransactionAsync(newTransaction({ data, dataRoot: dataRootOf(data), reward: 9n }), small),
    'with data',
  );
  const id = encodeBase64url(Buffer.alloc(32, 1));
  const cases: [string, unknown, RegExp][] = [
    ['format', 3, /format/],
    ['format', '2', /format/],
    ['format', undefined, /format/],
    ['id', undefined, /id/],
    ['id', 'AAAA', /id/],
    ['id', `${good.id}=`, /id/],
    ['owner', 5, /owner/],
    ['owner', 'A'.repeat(684), /owner/],
    ['last_tx', 'A'.repeat(66), /last_tx/],
    ['target', 'AAAA', /target/],
    ['quantity', '-1', /quantity/],
    ['quantity', '1e3', /quantity/],
    ['quantity', '0x10', /quantity/],
    ['quantity', '01', /quantity/],
    ['quantity', '1', /target/],
    ['quantity', 1, /quantity/],
    ['reward', '1'.repeat(22), /reward/],
    ['reward', ' 1', /reward/],
    ['data', 'AA==', /data/],
    ['data', 'AAAA', /data_size/],
    ['data_size', '7', /data_size/],
    ['data_size', '9007199254740992', /size/],
    ['data_size', '1.5', /data_size/],
    ['data_root', '', /data_root/],
    ['data_root', id.slice(0, 40), /data_root/],
    ['tags', {}, /tags/],
    ['tags', [null], /tag/],
    ['tags', [{ name: 'YQ' }], /value/],
    ['tags', [{ name: 'YQ', value: 'Y' }], /value/],
    ['tags', Array(2_049).fill({ name: '', value: '' }), /2048/],
    ['tags', [{ name: 'A'.repeat(1_368), value: 'A'.repeat(1_368) }], /2048/],
    ['signature', 'A'.repeat(684), /signature/],
    ['denomination', '-1', /denomination/],
  ];
  for (const [field, value, message] of cases) {
    assert.throws(
      () => parseTransactionJson({ ...good, [field]: value }),
      (error) => error instanceof FormatError && message.test(error.message),
      `${field} = ${JSON.stringify(value)?.slice(0, 40)}`,
    );
  }
  for (const value of [null, undefined, 1, 'text', []]) {
    assert.throws(() => parseTransactionJson(value), FormatError);
  }
});

test('20,000 damaged JSON transactions parse or fail with FormatError only', async () => {
  const random = seededRandom(32);
  const data = Buffer.from('inline');
  const good = Buffer.from(
    JSON.stringify(
      transactionToJson(
        await signTransactionAsync(
          newTransaction({ data, dataRoot: dataRootOf(data), reward: 9n, tags: [{ name: 'a', value: 'b' }] }),
          small,
        ),
        'with data',
      ),
    ),
  );
  const values: unknown[] = [null, true, 0, -1, 1e300, '', 'A', '=', '1e3', [], {}, [[]], 'x'.repeat(3_000)];
  const fields = Object.keys(JSON.parse(good.toString()));
  let parsed = 0;
  for (let round = 0; round < 20_000; round += 1) {
    let json: unknown;
    if (round % 2 === 0) {
      try {
        json = JSON.parse(random.mangle(good).toString('latin1'));
      } catch {
        continue;
      }
    } else {
      json = { ...JSON.parse(good.toString()), [random.pick(fields)]: random.pick(values) };
    }
    try {
      parseTransactionJson(json);
      parsed += 1;
    } catch (error) {
      assert.ok(error instanceof FormatError, String(error));
    }
  }
  assert.ok(parsed > 100);
});
