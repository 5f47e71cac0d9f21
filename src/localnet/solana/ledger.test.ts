import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { toSolanaAddress } from '../../formats/solana/address.ts';
import {
  memoProgram,
  rentExemptMinimum,
  systemProgram,
  tokenProgram,
} from '../../formats/solana/programs.ts';
import { computeBudget, createAccount, memo, transferLamports } from '../../formats/solana/system.ts';
import { NotATransaction, TransactionRefused } from './ledger.ts';
import { signed, TestLedger, wallet } from './testing.ts';

const sol = 1_000_000_000n;
const alice = wallet('alice');
const bob = wallet('bob');
let test1: TestLedger;

before(async () => {
  test1 = await TestLedger.start();
  await test1.rpc('requestAirdrop', alice.address, Number(10n * sol));
});
after(() => test1.stop());

/** The refusal, and proof that nothing changed. */
async function refused(work: () => Promise<unknown>): Promise<TransactionRefused['error']> {
  const before = [test1.balance(alice), test1.balance(bob), test1.local.ledger.transactionCount];
  let refusal: unknown;
  await assert.rejects(work, (error) => {
    refusal = error;
    return error instanceof TransactionRefused;
  });
  assert.deepEqual([test1.balance(alice), test1.balance(bob), test1.local.ledger.transactionCount], before);
  assert.ok(refusal instanceof TransactionRefused);
  return refusal.error;
}

test('a transfer moves lamports and costs 5000 per signature', async () => {
  const [a, b] = [test1.balance(alice), test1.balance(bob)];
  const status = await test1.send([transferLamports(alice.address, bob.address, sol)], alice);
  assert.equal(status.err, null);
  assert.equal(test1.balance(bob), b + sol);
  assert.equal(test1.balance(alice), a - sol - 5_000n);
});

test('probes may ask for its health with HEAD', async () => {
  for (const method of ['GET', 'HEAD']) {
    const answer = await fetch(`${test1.local.url}/health`, { method });
    assert.deepEqual([answer.status, await answer.text()], [200, method === 'GET' ? 'ok' : '']);
  }
});

test('a priority fee is units times price, rounded up', async () => {
  const a = test1.balance(alice);
  await test1.send([...computeBudget(1_001, 1_500n), memo('x')], alice).then(
    () => assert.fail('a memo does not fit 1001 units after its own budget'),
    () => {},
  );
  await test1.send([...computeBudget(10_001, 1_500n), memo('x')], alice);
  assert.equal(test1.balance(alice), a - 5_000n - 16n);
});

test('a transaction may be sent once', async () => {
  test1.skip(1);
  const wire = signed(test1.blockhash, [memo('once')], alice);
  await test1.local.ledger.submit(wire, true);
  assert.equal(await refused(() => test1.local.ledger.submit(wire, true)), 'AlreadyProcessed');
  test1.skip(10);
  await test1.restart();
  assert.equal(await refused(() => test1.local.ledger.submit(wire, false)), 'AlreadyProcessed');
});

test('the same bytes sent twice at once are one transaction', async () => {
  test1.skip(1);
  const wire = signed(test1.blockhash, [memo('twice')], alice);
  const count = test1.local.ledger.transactionCount;
  const [first, second] = await Promise.all([
    test1.local.ledger.submit(wire, true),
    test1.local.ledger.submit(wire, true),
  ]);
  assert.deepEqual(first, second);
  assert.equal(test1.local.ledger.transactionCount, count + 1);
});

test('a blockhash lives for 150 blocks', async () => {
  test1.skip(1);
  const young = signed(test1.blockhash, [memo('a')], alice);
  const old = signed(test1.blockhash, [memo('b')], alice);
  test1.skip(150);
  await test1.local.ledger.submit(young, true);
  test1.skip(1);
  assert.equal(await refused(() => test1.local.ledger.submit(old, true)), 'BlockhashNotFound');
  const foreign = signed('4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM', [memo('c')], alice);
  assert.equal(await refused(() => test1.local.ledger.submit(foreign, true)), 'BlockhashNotFound');
});

test('a signature that does not hold is refused', async () => {
  test1.skip(1);
  const wire = signed(test1.blockhash, [transferLamports(alice.address, bob.address, 1n)], alice);
  for (const at of [1, 40, 64, wire.length - 3]) {
    const altered = Buffer.from(wire);
    altered[at]! ^= 1;
    assert.equal(await refused(() => test1.local.ledger.submit(altered, true)), 'SignatureFailure');
  }
});

test('bytes that are no transaction are refused', async () => {
  const random = seededRandom(3);
  await assert.rejects(test1.local.ledger.submit(random.bytes(200), true), NotATransaction);
  await assert.rejects(test1.local.ledger.submit(Buffer.alloc(1233), true), NotATransaction);
  await assert.rejects(test1.local.ledger.submit(Buffer.alloc(0), true), NotATransaction);
});

test('a packet holds 1232 bytes and no more', async () => {
  const room = 1232 - signed(test1.blockhash, [memo('')], alice).length;
  test1.skip(1);
  const largest = signed(test1.blockhash, [memo('x'.repeat(room - 1))], alice);
  assert.equal(largest.length, 1232);
  await test1.local.ledger.submit(largest, true);
  test1.skip(1);
  const over = signed(test1.blockhash, [memo('x'.repeat(room))], alice);
  await assert.rejects(test1.local.ledger.submit(over, true), NotATransaction);
});

test('the fee payer must have the fee and stay rent-exempt or empty', async () => {
  const poor = wallet('poor');
  assert.equal(await refused(() => test1.send([memo('x')], poor)), 'AccountNotFound');
  await test1.send([transferLamports(alice.address, poor.address, 890_880n)], alice);
  assert.deepEqual(await refused(() => test1.send([memo('x')], poor)), {
    InsufficientFundsForRent: { account_index: 0 },
  });
  await test1.send([transferLamports(alice.address, poor.address, 1_000_000n)], alice);
  await test1.send([transferLamports(poor.address, bob.address, 1_885_880n)], poor);
  assert.equal(test1.balance(poor), 0n);
});

test('an account may not be left below rent exemption', async () => {
  const fresh = wallet('fresh');
  assert.deepEqual(
    await refused(() => test1.send([transferLamports(alice.address, fresh.address, 890_879n)], alice)),
    { InsufficientFundsForRent: { account_index: 1 } },
  );
  await test1.send([transferLamports(alice.address, fresh.address, 890_880n)], alice);
});

test('a transaction is all or nothing, and a failing one that was not simulated pays its fee', async () => {
  const failing = [
    transferLamports(alice.address, bob.address, 5n),
    transferLamports(bob.address, alice.address, 1_000_000n * sol),
  ];
  const expected = { InstructionError: [1, { Custom: 1 }] };
  assert.deepEqual(await refused(() => test1.send(failing, alice, bob)), expected);
  const [a, b] = [test1.balance(alice), test1.balance(bob)];
  const status = await test1.sendAnyway(failing, alice, bob);
  assert.deepEqual(status.err, expected);
  assert.deepEqual([test1.balance(alice), test1.balance(bob)], [a - 10_000n, b]);
});

test('an account is made once, at the size and with the owner asked for', async () => {
  const made = wallet('made');
  const rent = rentExemptMinimum(100);
  await test1.send([createAccount(alice.address, made.address, rent, 100, tokenProgram)], alice, made);
  const account = test1.local.ledger.accounts.get(made.address);
  assert.deepEqual([account.owner, account.data.length, account.lamports], [tokenProgram, 100, rent]);
  const again = [createAccount(alice.address, made.address, rent, 100, tokenProgram)];
  assert.deepEqual(await refused(() => test1.send(again, alice, made)), {
    InstructionError: [0, { Custom: 0 }],
  });
  // The System program no longer owns it, so nobody can send its lamports away by signing.
  const theft = [transferLamports(made.address, alice.address, 1n)];
  assert.deepEqual(await refused(() => test1.send(theft, alice, made)), {
    InstructionError: [0, 'InvalidArgument'],
  });
});

test('a program that is not there cannot be called', async () => {
  const nowhere = { programId: toSolanaAddress(Buffer.alloc(32, 77)), accounts: [], data: Buffer.alloc(0) };
  assert.equal(await refused(() => test1.send([nowhere], alice)), 'ProgramAccountNotFound');
  const wallet1 = { programId: bob.address, accounts: [], data: Buffer.alloc(0) };
  assert.equal(await refused(() => test1.send([wallet1], alice)), 'InvalidProgramForExecution');
});

test('instruction data that cannot be read fails the instruction', async () => {
  const random = seededRandom(11);
  for (const programId of [systemProgram, tokenProgram, memoProgram]) {
    for (let round = 0; round < 40; round += 1) {
      const data = random.bytes(random.below(30));
      const accounts = [alice, bob].map(({ address }) => ({ address, signer: true, writable: true }));
      const before = test1.balance(alice) + test1.balance(bob);
      await test1.send([{ programId, accounts, data }], alice, bob).then(
        () => assert.equal(test1.balance(alice) + test1.balance(bob), before - 10_000n),
        (error: unknown) => assert.ok(error instanceof TransactionRefused, String(error)),
      );
    }
  }
});

test('a memo is witnessed by its signers', async () => {
  const unsigned = { ...memo('x'), accounts: [{ address: bob.address, signer: false, writable: false }] };
  assert.deepEqual(await refused(() => test1.send([unsigned], alice)), {
    InstructionError: [0, 'MissingRequiredSignature'],
  });
  await test1.send([memo('x', bob.address)], alice, bob);
  const broken = { programId: memoProgram, accounts: [], data: Buffer.from([0xff]) };
  assert.deepEqual(await refused(() => test1.send([broken], alice)), {
    InstructionError: [0, 'InvalidInstructionData'],
  });
});
