import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../config/config.ts';
import { UsageError } from './command.ts';
import { NodeClient } from './node-client.ts';
import { serviceUrl } from './service-url.ts';

test('a service is found where the stack binds, also on IPv6 and on all addresses', () => {
  assert.equal(serviceUrl(undefined, '127.0.0.1', 4002), 'http://127.0.0.1:4002');
  assert.equal(serviceUrl(undefined, '::1', 4002), 'http://[::1]:4002');
  assert.equal(serviceUrl(undefined, '0.0.0.0', 4002), 'http://127.0.0.1:4002');
});

test('an address that is given is taken without its last slash, and refused when it is none', () => {
  assert.equal(serviceUrl('https://up.example/', '127.0.0.1', 1), 'https://up.example');
  for (const bad of ['', 'localhost:4002', 'up.example', 'ftp://up.example']) {
    assert.throws(() => serviceUrl(bad, '127.0.0.1', 1), UsageError, bad);
  }
});

test('the local Arweave node is on loopback whatever HOST is', () => {
  assert.equal(new NodeClient(readConfig({ HOST: '192.0.2.1' })).url, 'http://127.0.0.1:1984');
});
