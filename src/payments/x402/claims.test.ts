import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchingClaim, writeClaim } from './claims.ts';
import { X402Unreadable } from './errors.ts';
import { paymentHeader, tolerated } from './read-payment.ts';

test('a payment is claimed by its key, or without one by its network, and by nothing else', () => {
  const byKey = writeClaim('payment', { network: 'here', key: 'secret' });
  const byNetwork = writeClaim('payment', { network: 'here' });
  assert.equal(matchingClaim(byKey, 'payment', { network: 'there', key: 'secret' }), 'key');
  assert.equal(matchingClaim(byKey, 'payment', { network: 'here' }), undefined);
  assert.equal(matchingClaim(byKey, 'payment', { network: 'here', key: 'other' }), undefined);
  assert.equal(matchingClaim(byKey, 'another', { network: 'here', key: 'secret' }), undefined);
  assert.equal(matchingClaim(byNetwork, 'payment', { network: 'here' }), 'network');
  assert.equal(matchingClaim(byNetwork, 'payment', { network: 'here', key: 'any' }), 'network');
  assert.equal(matchingClaim(byNetwork, 'payment', { network: 'there' }), undefined);
  assert.equal(matchingClaim(byNetwork, 'payment', { network: 'there', key: 'here' }), undefined);
  assert.equal(matchingClaim(undefined, 'payment', { network: 'here' }), undefined);
  assert.ok(!byKey.includes('secret'));
});

test('a payment is read from either header, once', () => {
  assert.equal(paymentHeader({ 'x-payment': 'a' }), 'a');
  assert.equal(paymentHeader({ 'payment-signature': 'b' }), 'b');
  assert.equal(paymentHeader({ 'x-payment': '' }), undefined);
  assert.equal(paymentHeader({}), undefined);
  assert.throws(() => paymentHeader({ 'x-payment': ['a', 'b'] }), X402Unreadable);
});

test('a price that has risen since is met by what was asked, rounded up', () => {
  assert.equal(tolerated(10_000n, 0n), 10_000n);
  assert.equal(tolerated(10_000n, 500n), 9_500n);
  assert.equal(tolerated(1n, 500n), 1n);
  assert.equal(tolerated(3n, 5_000n), 2n);
  assert.equal(tolerated(0n, 500n), 0n);
});
