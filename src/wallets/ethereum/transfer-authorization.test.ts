import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findX402Network } from '../../formats/x402/networks.ts';
import { examplePayment } from '../../formats/x402/testing.ts';
import { signEthereumDigest } from './personal-message.ts';
import { isSignedByHolder, transferDigest } from './transfer-authorization.ts';

const { authorization, signature, digest, privateKey } = examplePayment;
const network = findX402Network('base-sepolia');
const base = findX402Network('base');
assert.ok(network !== undefined && base !== undefined);

test('the digest and signature are those of the published token', () => {
  const hash = transferDigest(authorization, network);
  assert.equal(Buffer.from(hash).toString('hex'), digest);
  assert.equal(`0x${signEthereumDigest(hash, privateKey).toString('hex')}`, signature);
});

test('the signature holds for this transfer on this token only', () => {
  assert.equal(isSignedByHolder(authorization, signature, network), true);
  assert.equal(isSignedByHolder(authorization, signature, base), false);
  assert.equal(isSignedByHolder(authorization, signature, { ...network, tokenName: 'USD Coin' }), false);
  for (const changed of [
    { from: examplePayment.payTo },
    { to: authorization.from },
    { value: 1_000_001n },
    { validAfter: 1n },
    { validBefore: 4_102_444_801n },
    { nonce: `0x${'ac'.repeat(32)}` },
  ]) {
    assert.equal(isSignedByHolder({ ...authorization, ...changed }, signature, network), false);
  }
  assert.equal(isSignedByHolder(authorization, `${signature}00`, network), false);
});
