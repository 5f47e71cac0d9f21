import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTransfer, signTransfer } from './transaction.ts';

const signed = signTransfer(
  {
    chainId: 1,
    nonce: 3n,
    maxPriorityFeePerGas: 1n,
    maxFeePerGas: 2n,
    gasLimit: 21_000n,
    to: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
    value: 5n,
    data: '0x',
  },
  Buffer.alloc(32, 7),
);

/** The same with some bytes changed, inside a list of the right length. */
function spelled(find: string, put: string): string {
  const [, length = '', fields = ''] = /^0x02f8(..)(.*)$/.exec(signed.raw) ?? [];
  assert.ok(fields.includes(find));
  const grown = Number.parseInt(length, 16) + (put.length - find.length) / 2;
  return `0x02f8${grown.toString(16)}${fields.replace(find, put)}`;
}

test('a signed transaction is read as it was written', () => {
  const read = readTransfer(signed.raw);
  assert.equal(read?.hash, signed.hash);
  assert.equal(read?.nonce, 3n);
  assert.equal(read?.value, 5n);
});

test('a transaction has one spelling: another would have another hash and the same effect', () => {
  assert.equal(readTransfer(spelled('01030102', '0181030102')), undefined, 'a length that is not needed');
  assert.equal(readTransfer(spelled('01030102', '018200030102')), undefined, 'zeros before a number');
});

test('a transaction with an access list is not taken for one without, which somebody else would have signed', () => {
  assert.equal(readTransfer(spelled('80c0', '80c1c0')), undefined);
});
