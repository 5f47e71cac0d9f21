import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../config/config.ts';
import { UsageError } from './command.ts';
import { NodeClient } from './node-client.ts';
import { runFile } from './run-file.ts';
import { givenUrl, serviceUrl } from './service-url.ts';

const nowhere = join(tmpdir(), 'turnpike-of-nobody');

test('a service is found where the stack binds, also on IPv6 and on all addresses', () => {
  const at = (HOST: string) => serviceUrl(readConfig({ HOST, DATA_DIR: nowhere }), 'upload');
  assert.equal(at('127.0.0.1'), 'http://127.0.0.1:4002');
  assert.equal(at('::1'), 'http://[::1]:4002');
  assert.equal(at('0.0.0.0'), 'http://127.0.0.1:4002');
});

test('an address that is given is taken without its last slash, and refused when it is none', () => {
  assert.equal(givenUrl('https://up.example/'), 'https://up.example');
  for (const bad of ['', 'localhost:4002', 'up.example', 'ftp://up.example']) {
    assert.throws(() => serviceUrl(readConfig({}), 'upload', bad), UsageError, bad);
  }
});

test('what runs on the data folder is found at its port, unless a variable names another', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-service-url-'));
  const config = readConfig({ DATA_DIR: dataDir });
  const file = runFile(config, () => [{ name: 'upload', url: 'http://127.0.0.1:54321', what: '' }]);
  try {
    await file.start();
    assert.equal(serviceUrl(config, 'upload'), 'http://127.0.0.1:54321');
    assert.equal(serviceUrl(config, 'payment'), 'http://127.0.0.1:4001');
    process.env.UPLOAD_PORT = '4902';
    const told = readConfig({ DATA_DIR: dataDir, UPLOAD_PORT: '4902' });
    assert.equal(serviceUrl(told, 'upload'), 'http://127.0.0.1:4902');
  } finally {
    delete process.env.UPLOAD_PORT;
    await file.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test('the local Arweave node is on loopback whatever HOST is', () => {
  const config = readConfig({ HOST: '192.0.2.1', DATA_DIR: nowhere });
  assert.equal(new NodeClient(config).url, 'http://127.0.0.1:1984');
});
