import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeBase58 } from '../../formats/base58.ts';
import { makeSecretKey, parseSecretKey } from './service-key.ts';

const secret = makeSecretKey();
const list = [...decodeBase58(secret)];

test("the service's Solana key is the same in base58 and as the list of Solana's tools", () => {
  const { address } = parseSecretKey(`${secret}\n`);
  assert.equal(parseSecretKey(`${JSON.stringify(list)}\n`).address, address);
});

test('anything else is refused by the name of its variable', () => {
  for (const text of [
    '',
    '[]',
    '{}',
    JSON.stringify(list.slice(1)),
    JSON.stringify([...list.slice(1), 256]),
  ]) {
    assert.throws(
      () => parseSecretKey(text),
      /^StartupError: SOLANA_SIGNER_SECRET_KEY must be base58 of 64 bytes$/,
    );
  }
  const others = JSON.stringify([...list.slice(0, 32), ...decodeBase58(makeSecretKey()).subarray(32)]);
  assert.throws(() => parseSecretKey(others), /holds a public key that is not the private key's own/);
});
