import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toSolanaAddress } from '../../formats/solana/address.ts';
import { antBuilder } from '../../formats/solana/instructions-ant.ts';
import { compileMessage, type Instruction } from '../../formats/solana/message.ts';
import { namePrograms } from '../../formats/solana/programs.ts';
import { memo, transferLamports } from '../../formats/solana/system.ts';
import { emptySignature, serializeTransaction } from '../../formats/solana/transaction.ts';
import { summarizeTransaction } from './solana-transaction.ts';

const service = toSolanaAddress(Buffer.alloc(32, 1));
const owner = toSolanaAddress(Buffer.alloc(32, 2));
const friend = toSolanaAddress(Buffer.alloc(32, 3));
const ant = antBuilder(namePrograms.mainnet);
const signed = Buffer.alloc(64, 1);

function wire(instructions: readonly Instruction[], signatures = [signed, emptySignature]): string {
  const message = compileMessage({ feePayer: service, blockhash: friend, instructions });
  return serializeTransaction(signatures, message).toString('base64');
}

test('a transaction is told step by step, with who has still to sign', () => {
  const summary = summarizeTransaction(
    wire([
      transferLamports(service, owner, 5_000n),
      ant.setRecord(friend, owner, {
        undername: 'docs',
        target: 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4',
        protocol: 0,
        ttlSeconds: 60,
        priority: undefined,
        recordOwner: undefined,
      }),
      memo('hello'),
    ]),
  );
  assert.equal(summary?.feePayer, service);
  assert.deepEqual(summary?.missing, [owner]);
  assert.deepEqual(
    summary?.steps.map(({ instruction, isKnownProgram, values }) => [instruction, isKnownProgram, ...values]),
    [
      ['transfer_lamports', true],
      ['set_record', true, 'docs', 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4'],
      [undefined, false],
    ],
  );
  assert.deepEqual(summary?.steps[0]?.payment, { from: service, to: owner, lamports: 5_000n });
});

test('who gets a name or may change it is told', () => {
  const at = (user: typeof owner) => ({ user, page: 0n });
  const steps = (instruction: Instruction) => summarizeTransaction(wire([instruction]))?.steps[0]?.values;
  assert.deepEqual(steps(ant.addController(service, owner, at(friend))), [friend]);
  assert.deepEqual(steps(ant.transfer(service, at(owner), at(friend))), [friend]);
});

test('the name and the target of a new token are told, with a ticker and without', () => {
  const target = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
  for (const ticker of ['BLOG', undefined]) {
    const state = { name: 'blog', ticker, target, protocol: 0, logo: target, description: '', keywords: [] };
    const told = summarizeTransaction(wire([ant.initialize(friend, owner, state)]));
    assert.deepEqual(told?.steps[0]?.values, ['blog', target]);
  }
});

test('what is cut, padded or no transaction at all is not told as one', () => {
  const whole = wire([transferLamports(service, owner, 1n)], [signed]);
  const bytes = Buffer.from(whole, 'base64');
  assert.ok(summarizeTransaction(whole));
  for (let length = 0; length < bytes.length; length += 1) {
    assert.equal(
      summarizeTransaction(bytes.subarray(0, length).toString('base64')),
      undefined,
      String(length),
    );
  }
  assert.equal(summarizeTransaction(Buffer.concat([bytes, Buffer.of(0)]).toString('base64')), undefined);
  assert.equal(summarizeTransaction('!'), undefined);
  assert.equal(summarizeTransaction(Buffer.alloc(2_000).toString('base64')), undefined);
});
