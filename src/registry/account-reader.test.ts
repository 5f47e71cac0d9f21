import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toSolanaAddress } from '../formats/solana/address.ts';
import { AccountReader } from './account-reader.ts';

const address = (number: number) => {
  const bytes = Buffer.alloc(32, 7);
  bytes.writeUInt32BE(number);
  return toSolanaAddress(bytes);
};

test('questions of one turn share calls of at most 100, each is answered in its order', async () => {
  const calls: number[] = [];
  const reader = new AccountReader(async (addresses) => {
    calls.push(addresses.length);
    return addresses.map((text) => `value of ${text}`);
  });
  const asked = [
    [address(1), address(2)],
    [address(2), address(1), address(2)],
    Array.from({ length: 97 }, (_, index) => address(100 + index)),
    Array.from({ length: 250 }, (_, index) => address(index)),
    [],
  ];
  const answers = await Promise.all(asked.map((addresses) => reader.read(addresses)));
  assert.deepEqual(
    answers,
    asked.map((addresses) => addresses.map((text) => `value of ${text}`)),
  );
  assert.deepEqual(calls.toSorted(), [100, 100, 2, 50, 97]);
});

test('a call that fails fails its questions and no others', async () => {
  let broken = true;
  const reader = new AccountReader(async (addresses) => {
    if (broken) throw new Error('down');
    return [...addresses];
  });
  await assert.rejects(Promise.all([reader.read([address(1)]), reader.read([address(2)])]), /down/);
  broken = false;
  assert.deepEqual(await reader.read([address(3)]), [address(3)]);
});
