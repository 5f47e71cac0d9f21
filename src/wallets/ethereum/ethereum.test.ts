import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { ethereumAddress, parseEthereumAddress } from './address.ts';
import {
  personalMessageHash,
  recoverEthereumAddress,
  recoverEthereumKey,
  signEthereumDigest,
} from './personal-message.ts';
import {
  loadPureJavaScript,
  publicKeyOf,
  recoverPublicKey,
  signDigest,
  uncompressedPublicKey,
} from './secp256k1.ts';

const key = Buffer.alloc(32, 0x11);
const address = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const digestOf = (text: string) => createHash('sha256').update(text).digest();

test('an address is derived from the public key and carries its checksum', () => {
  assert.equal(ethereumAddress(publicKeyOf(key)), address);
});

test('addresses are read in lower, upper and rightly checksummed case only', () => {
  assert.equal(parseEthereumAddress(address), address);
  assert.equal(parseEthereumAddress(address.toLowerCase()), address);
  assert.equal(parseEthereumAddress(`0x${address.slice(2).toUpperCase()}`), address);
  assert.equal(parseEthereumAddress(address.replace('E7E3', 'e7E3')), undefined);
  for (const wrong of [
    '',
    '0x',
    address.slice(2),
    `${address}0`,
    address.replace('0x', '0X'),
    ` ${address}`,
  ]) {
    assert.equal(parseEthereumAddress(wrong), undefined);
  }
});

test('the checksum examples of EIP-55 hold', () => {
  for (const example of [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ]) {
    assert.equal(parseEthereumAddress(example.toLowerCase()), example);
  }
});

test('a personal message signed with a key recovers to its address', () => {
  const message = Buffer.from('5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495');
  const signature = signEthereumDigest(personalMessageHash(message), key);
  assert.equal(
    signature.toString('base64url'),
    'OOehclbrZf99MBVo9MUyU0CQxg_wu8oT2ppnuf5--VEu8iUDf5grL9AeBTCIUvNpmM1o8t8jlWg6F1UpLwpGyxs',
  );
  assert.equal(recoverEthereumAddress(personalMessageHash(message), signature), address);
});

test('only v 27 and 28 recover a key, and 0 and 1 where the caller allows them', () => {
  const digest = digestOf('v');
  const signature = signEthereumDigest(digest, key);
  const v = signature[64]!;
  for (let byte = 0; byte < 256; byte++) {
    signature[64] = byte;
    const strict = recoverEthereumKey(digest, signature);
    const raw = recoverEthereumKey(digest, signature, { allowRawRecovery: true });
    const isSigner = (found: Uint8Array | undefined) =>
      found !== undefined && ethereumAddress(found) === address;
    assert.equal(isSigner(strict), byte === v, `v ${byte}`);
    assert.equal(isSigner(raw), byte === v || byte === v - 27, `v ${byte}`);
  }
});

test('high s, zero and out-of-range values are refused', () => {
  const digest = digestOf('s');
  const { signature, recovery } = signDigest(digest, key);
  const s = BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`);
  const withS = (value: bigint) =>
    Buffer.concat([signature.subarray(0, 32), Buffer.from(value.toString(16).padStart(64, '0'), 'hex')]);
  assert.ok(recoverPublicKey(digest, withS(s), recovery) !== undefined);
  assert.equal(recoverPublicKey(digest, withS(order - s), recovery ^ 1), undefined);
  assert.equal(recoverPublicKey(digest, withS(0n), recovery), undefined);
  assert.equal(recoverPublicKey(digest, Buffer.alloc(64, 0xff), 0), undefined);
  assert.equal(recoverPublicKey(digest, Buffer.alloc(64), 0), undefined);
  assert.equal(recoverPublicKey(digest.subarray(1), signature, recovery), undefined);
});

test('public keys are read compressed and uncompressed, and points off the curve are refused', () => {
  const full = publicKeyOf(key);
  const compressed = Buffer.concat([Buffer.from([2 + (full[64]! & 1)]), full.subarray(1, 33)]);
  assert.deepEqual(Buffer.from(uncompressedPublicKey(compressed)!), Buffer.from(full));
  assert.deepEqual(Buffer.from(uncompressedPublicKey(full)!), Buffer.from(full));
  const off = Buffer.from(full);
  off[64]! ^= 1;
  assert.equal(uncompressedPublicKey(off), undefined);
  assert.equal(uncompressedPublicKey(Buffer.alloc(33)), undefined);
  assert.equal(uncompressedPublicKey(Buffer.alloc(5)), undefined);
  const hybrid = Buffer.from(full);
  hybrid[0] = 6 + ((hybrid.at(-1) ?? 0) & 1);
  assert.equal(uncompressedPublicKey(hybrid), undefined);
  assert.throws(() => publicKeyOf(Buffer.alloc(32)), /not a secp256k1 private key/);
  for (const length of [1, 31, 33]) {
    assert.throws(() => publicKeyOf(Buffer.alloc(length, 1)), /not a secp256k1 private key/);
    assert.throws(() => signDigest(Buffer.alloc(32, 1), Buffer.alloc(length, 1)), /32 bytes/);
    assert.throws(() => signDigest(Buffer.alloc(length, 1), key), /32 bytes/);
  }
});

test('the pure-JavaScript curve agrees with WebAssembly', async () => {
  const pure = await loadPureJavaScript();
  for (let i = 0; i < 8; i++) {
    const digest = digestOf(`agree ${i}`);
    const secret = digestOf(`key ${i}`);
    const signed = signDigest(digest, secret);
    const other = pure.sign(digest, secret);
    assert.deepEqual(Buffer.from(other.signature), Buffer.from(signed.signature));
    assert.equal(other.recovery, signed.recovery);
    assert.deepEqual(
      Buffer.from(pure.recover(digest, signed.signature, signed.recovery === 1 ? 1 : 0)!),
      Buffer.from(publicKeyOf(secret)),
    );
  }
});

test('both curves judge changed signatures alike', async () => {
  const pure = await loadPureJavaScript();
  const random = seededRandom(121);
  const changes: ((sample: { digest: Buffer; signature: Buffer }) => void)[] = [
    () => {},
    ({ signature }) => (signature[random.below(64)]! ^= 1 << random.below(8)),
    ({ digest }) => (digest[random.below(32)]! ^= 1 << random.below(8)),
    ({ signature }) => signature.fill(0, 0, 32),
    ({ signature }) => signature.fill(0, 32, 64),
    ({ signature }) => signature.fill(0xff, 0, 32),
    ({ signature }) => Buffer.from(order.toString(16), 'hex').copy(signature, 0),
    ({ digest }) => digest.fill(0),
    ({ digest }) => digest.fill(0xff),
  ];
  let found = 0;
  for (let round = 0; round < 90; round++) {
    const digest = Buffer.from(random.bytes(32));
    const { signature, recovery } = signDigest(digest, key);
    const sample = { digest, signature: Buffer.from(signature) };
    changes[round % changes.length]!(sample);
    const claimed = round % 4 === 0 ? recovery ^ 1 : recovery;
    const recovered = recoverPublicKey(sample.digest, sample.signature, claimed);
    const low = BigInt(`0x${sample.signature.subarray(32).toString('hex')}`) <= order / 2n;
    let expected: Uint8Array | null = null;
    try {
      if (low) expected = pure.recover(sample.digest, sample.signature, claimed === 1 ? 1 : 0);
    } catch {}
    assert.deepEqual(
      recovered === undefined ? null : Buffer.from(recovered),
      expected === null ? null : Buffer.from(expected),
      `round ${round}`,
    );
    if (recovered !== undefined) found += 1;
  }
  assert.ok(found > 30 && found < 80);
});
