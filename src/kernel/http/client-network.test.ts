import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf, plainAddress } from './client-network.ts';

test('one IPv6 network counts once, and IPv4 is IPv4 through whatever socket it came', () => {
  const key = (address: string) => networkOf(plainAddress(address));
  assert.equal(key('2001:db8:1:2::1'), '2001:db8:1:2::/64');
  assert.equal(key('2001:0DB8:1:2:ffff:ffff:ffff:ffff'), '2001:db8:1:2::/64');
  assert.equal(key('fe80::1%eth0'), 'fe80:0:0:0::/64');
  assert.equal(key('::1'), '0:0:0:0::/64');
  assert.equal(key('::ffff:192.0.2.1'), '192.0.2.1');
  assert.equal(key('192.0.2.1'), '192.0.2.1');
  assert.equal(key('unknown'), 'unknown');
});
