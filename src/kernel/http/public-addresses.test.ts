import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import { isPublicAddress, isPublicHost, publicLookup } from './public-addresses.ts';

test('public addresses are told from those of inner networks, however they are written', () => {
  for (const address of ['8.8.8.8', '172.32.0.1', '::ffff:8.8.8.8', '2600::1', '100.63.255.255'])
    assert.ok(isPublicAddress(address), address);
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '198.18.0.1',
    '203.0.113.7',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '3fff::1',
    'fe80::1',
    'fec0::1',
    'fd00::1',
    'ff02::1',
    'example.org',
    '',
  ])
    assert.ok(!isPublicAddress(address), address);
});

test('names that only mean something inside are no public hosts', () => {
  for (const host of ['gw.example', 'GW.Example.', '93.184.216.34', '[2606:2800:220:1::1]'])
    assert.ok(isPublicHost(host), host);
  for (const host of [
    '',
    'localhost',
    'intranet',
    'LOCALHOST.',
    'a.local',
    'a.localhost.',
    'metadata.internal',
    'db.corp',
    'printer.home.arpa',
    '127.0.0.1',
    '10.1.2.3',
    '192.0.2.1',
    '[::1]',
    '[fd00::1]',
  ])
    assert.ok(!isPublicHost(host), host);
});

test('a name that leads inside is not connected to', async () => {
  for (const all of [true, false]) {
    const error = await new Promise((resolve) => {
      publicLookup('localhost', { all }, (problem: Error | null, _found: string | LookupAddress[]) =>
        resolve(problem),
      );
    });
    assert.match(String(error), /localhost has no public address \(.*(127\.0\.0\.1|::1)/);
  }
});
