import assert from 'node:assert/strict';
import { constants, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { test } from 'node:test';
import { arweaveTestKey } from '../../../test/support/keys.ts';
import { rsaPublicKey, signPssAsync, verifyPss, verifyPssAsync, withoutSalt, withPss } from './rsa-pss.ts';

const privateKey = createPrivateKey({ key: arweaveTestKey, format: 'jwk' });
const publicKey = createPublicKey(privateKey);
const message = Buffer.from('any message');
const signed = (options: object) => sign('sha256', message, { key: privateKey, ...options });
const { n = '' } = publicKey.export({ format: 'jwk' });
const modulus = Buffer.from(n, 'base64url');

test('a key with its options, and one without, take a signature of any salt and no other padding', async () => {
  const plain = createPublicKey({ key: { kty: 'RSA', n, e: 'AQAB' }, format: 'jwk' });
  const made = rsaPublicKey(modulus);
  assert.ok(made !== undefined);
  for (const key of [plain, made, withPss(createPublicKey(privateKey))]) {
    for (const saltLength of [0, 32, constants.RSA_PSS_SALTLEN_MAX_SIGN]) {
      const signature = signed({ padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
      assert.equal(verifyPss(key, message, signature), true);
      assert.equal(await verifyPssAsync(key, message, signature), true);
      assert.equal(verifyPss(key, Buffer.from('another'), signature), false);
      assert.equal(await verifyPssAsync(key, Buffer.from('another'), signature), false);
    }
    assert.equal(verifyPss(key, message, signed({ padding: constants.RSA_PKCS1_PADDING })), false);
  }
});

test('a key for signatures without salt makes the same ones as the key it is a copy of, and others where asked', async () => {
  const copy = withoutSalt(privateKey);
  const signature = signed({ padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 0 });
  assert.deepEqual(await signPssAsync(privateKey, message, 0), signature);
  assert.deepEqual(await signPssAsync(copy, message, 0), signature);
  const salted = await signPssAsync(copy, message, 32);
  assert.notDeepEqual(salted, signature);
  assert.equal(verifyPss(publicKey, message, salted), true);
  assert.ok(!('saltLength' in privateKey), 'the key itself signs as before');
});
