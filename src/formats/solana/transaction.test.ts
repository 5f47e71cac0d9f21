import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { encodeBase58 } from '../base58.ts';
import { FormatError } from '../format-error.ts';
import { toSolanaAddress } from './address.ts';
import { Reader, Writer } from './bytes.ts';
import { compileMessage, isWritableKey, parseMessage } from './message.ts';
import { memoProgram, systemProgram } from './programs.ts';
import { memo, transferLamports } from './system.ts';
import { emptySignature, parseTransaction, serializeTransaction, signersOf } from './transaction.ts';

const payer = toSolanaAddress(Buffer.alloc(32, 1));
const friend = toSolanaAddress(Buffer.alloc(32, 2));
const witness = toSolanaAddress(Buffer.alloc(32, 3));
const blockhash = encodeBase58(Buffer.alloc(32, 4));

test('compact lengths have one form each', () => {
  for (const value of [0, 1, 127, 128, 255, 16383, 16384, 65535]) {
    const bytes = new Writer().compactU16(value).finish();
    assert.equal(new Reader(bytes).compactU16(), value);
  }
  for (const hex of ['8000', '808000', '808004', 'ffff04', 'ffffff', '80']) {
    assert.throws(() => new Reader(Buffer.from(hex, 'hex')).compactU16(), FormatError, hex);
  }
});

for (const version of ['legacy', 0] as const) {
  test(`a ${version} message puts accounts in the order of their rights and reads back`, () => {
    const bytes = compileMessage({
      version,
      feePayer: payer,
      blockhash,
      instructions: [memo('hi', witness), transferLamports(payer, friend, 5n)],
    });
    const message = parseMessage(bytes);
    assert.equal(message.version, version);
    assert.deepEqual(message.keys, [payer, witness, friend, memoProgram, systemProgram]);
    assert.deepEqual(signersOf(message), [payer, witness]);
    assert.deepEqual(
      message.keys.map((_, index) => isWritableKey(message, index)),
      [true, false, true, false, false],
    );
    assert.equal(message.blockhash, blockhash);
    assert.deepEqual(message.instructions[0]?.accounts, [1]);
    assert.equal(message.instructions[0]?.data.toString(), 'hi');
    assert.deepEqual(message.instructions[1]?.accounts, [0, 2]);
  });
}

test('a transaction carries exactly the signatures its message asks for', () => {
  const messageBytes = compileMessage({ feePayer: payer, blockhash, instructions: [memo('x')] });
  const wire = serializeTransaction([emptySignature], messageBytes);
  const transaction = parseTransaction(wire);
  assert.deepEqual(transaction.messageBytes, messageBytes);
  assert.ok(emptySignature.equals(transaction.signatures[0]!));
  assert.throws(() => parseTransaction(serializeTransaction([], messageBytes)), FormatError);
  assert.throws(
    () => parseTransaction(serializeTransaction([emptySignature, emptySignature], messageBytes)),
    FormatError,
  );
  assert.throws(() => parseTransaction(Buffer.concat([wire, Buffer.alloc(1)])), FormatError);
});

test('damaged transactions are refused with a format error or read, never anything else', () => {
  const random = seededRandom(8);
  const wire = serializeTransaction(
    [emptySignature, emptySignature],
    compileMessage({
      feePayer: payer,
      blockhash,
      instructions: [memo('hi', witness), transferLamports(payer, friend, 5n)],
    }),
  );
  let refused = 0;
  for (let round = 0; round < 5_000; round += 1) {
    try {
      parseTransaction(random.mangle(wire));
    } catch (error) {
      assert.ok(error instanceof FormatError, String(error));
      refused += 1;
    }
  }
  assert.ok(refused > 1_000);
});
