import assert from 'node:assert/strict';
import { test } from 'node:test';
import { urlsOf, variablesOf } from './urls.ts';

const addresses = [
  { name: 'arweave', url: 'http://127.0.0.1:1984', what: 'local Arweave node' },
  { name: 'solana', url: 'http://127.0.0.1:8899', what: 'local Solana ledger' },
];

test('a part that was not started has no address, and says so', () => {
  const urls = urlsOf(addresses);
  assert.equal(urls.solanaWebSocket, 'ws://127.0.0.1:8899');
  assert.throws(() => urls.upload, /upload was not started with this network/);
  assert.deepEqual(Object.keys(urls), ['arweave', 'solana', 'solanaWebSocket']);
  assert.deepEqual(variablesOf(urls), {
    ARWEAVE_URL: 'http://127.0.0.1:1984',
    SOLANA_RPC_URL: 'http://127.0.0.1:8899',
    SOLANA_WS_URL: 'ws://127.0.0.1:8899',
  });
});

test('what tells no addresses, or has no network of its own, is refused', () => {
  assert.throws(() => urlsOf({ error: 'no' }), /did not tell its addresses/);
  assert.throws(() => urlsOf([{ name: 'router', url: 'http://127.0.0.1:3000' }]), /without a local network/);
});
