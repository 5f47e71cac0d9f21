/** What litesvm cannot show (test/clients/solana-programs.test.ts): nonces and lookups in whole transactions, old folders. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { decodeBase58 } from '../../../formats/base58.ts';
import { addressBytes } from '../../../formats/solana/address.ts';
import { Writer } from '../../../formats/solana/bytes.ts';
import { decodeLookupTable, lookupTableInstruction } from '../../../formats/solana/lookup-table.ts';
import {
  type Instruction,
  readOnly,
  signer,
  writable,
  writableSigner,
} from '../../../formats/solana/message.ts';
import { decodeNonce, nonceAccountSize, nonceText } from '../../../formats/solana/nonce.ts';
import { findProgramAddress } from '../../../formats/solana/pda.ts';
import {
  lookupTableProgram,
  nativeMint,
  rentExemptMinimum,
  systemProgram,
  sysvars,
} from '../../../formats/solana/programs.ts';
import { createAccount, memo, systemInstruction, transferLamports } from '../../../formats/solana/system.ts';
import { serializeTransaction } from '../../../formats/solana/transaction.ts';
import { openSqliteFile } from '../../../storage/sql/open.ts';
import { signEd25519 } from '../../../wallets/solana/ed25519.ts';
import { TransactionRefused } from '../ledger.ts';
import { migrations } from '../migrations.ts';
import { signed, TestLedger, wallet } from '../testing.ts';

const alice = wallet('alice');
const bob = wallet('bob');
const nonce = wallet('nonce');
let ledger: TestLedger;

before(async () => {
  ledger = await TestLedger.start({ fund: [alice.address] });
  await ledger.rpc('requestAirdrop', bob.address, 10_000_000_000);
});
after(() => ledger.stop());

const system = (accounts: Instruction['accounts'], data: Writer): Instruction => ({
  programId: systemProgram,
  accounts,
  data: data.finish(),
});

const nonceValue = (): string => {
  const found = decodeNonce(ledger.local.ledger.accounts.get(nonce.address).data);
  assert.ok(found !== undefined);
  return nonceText(found);
};

const isRefused = (error: string) => (failure: unknown) =>
  failure instanceof TransactionRefused && failure.error === error;

test('a nonce lets a transaction in long after its blockhash, once, and a failing one uses it up', async () => {
  const rent = rentExemptMinimum(nonceAccountSize);
  await ledger.send(
    [
      createAccount(alice.address, nonce.address, rent, nonceAccountSize, systemProgram),
      system(
        [writable(nonce.address), readOnly(sysvars.recentBlockhashes), readOnly(sysvars.rent)],
        new Writer().u32(systemInstruction.initializeNonce).bytes(addressBytes(alice.address)),
      ),
    ],
    alice,
    nonce,
  );
  const advance = system(
    [writable(nonce.address), readOnly(sysvars.recentBlockhashes), signer(alice.address)],
    new Writer().u32(systemInstruction.advanceNonce),
  );
  const submit = (wire: Buffer, preflight = true) => ledger.local.ledger.submit(wire, preflight);
  const first = nonceValue();
  const wire = signed(first, [advance, transferLamports(alice.address, bob.address, 5n)], alice);
  ledger.skip(100_000);
  await ledger.restart();
  assert.equal((await submit(wire)).err, null);
  const second = nonceValue();
  assert.notEqual(second, first);
  await assert.rejects(submit(wire), isRefused('BlockhashNotFound'));
  ledger.skip(1_000);
  await assert.rejects(submit(wire), isRefused('BlockhashNotFound'));

  const tooMuch = signed(second, [advance, transferLamports(alice.address, bob.address, 10n ** 18n)], alice);
  await assert.rejects(submit(tooMuch), TransactionRefused);
  assert.equal(nonceValue(), second);
  const balance = ledger.balance(alice);
  assert.deepEqual((await submit(tooMuch, false)).err, { InstructionError: [1, { Custom: 1 }] });
  assert.notEqual(nonceValue(), second);
  assert.equal(ledger.balance(alice), balance - 5_000n);
  await assert.rejects(submit(tooMuch, false), isRefused('BlockhashNotFound'));

  const third = nonceValue();
  const notFirst = signed(third, [memo('before'), advance], alice);
  await assert.rejects(submit(notFirst), isRefused('BlockhashNotFound'));
  const byAnother = { ...advance, accounts: advance.accounts.with(2, signer(bob.address)) };
  await assert.rejects(submit(signed(third, [byAnother], bob)), isRefused('BlockhashNotFound'));
  assert.equal(nonceValue(), third);
  // Two of one batch name the same value: one gets it.
  const rivals = ['x', 'y'].map((text) => submit(signed(third, [advance, memo(text)], alice)));
  const outcomes = await Promise.allSettled(rivals);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('a message names accounts by their place in a table, as soon as the table is answered', async () => {
  ledger.skip(1);
  const { slot } = ledger.local.ledger.slots.now();
  const seeds = [addressBytes(alice.address), new Writer().u64(BigInt(slot)).finish()];
  const table = findProgramAddress(seeds, lookupTableProgram);
  const instruction = (accounts: Instruction['accounts'], data: Writer): Instruction => ({
    programId: lookupTableProgram,
    accounts: [writable(table.address), ...accounts],
    data: data.finish(),
  });
  const payer = [signer(alice.address), writableSigner(alice.address), readOnly(systemProgram)];
  const create = instruction(
    payer,
    new Writer().u32(lookupTableInstruction.create).u64(BigInt(slot)).u8(table.bump),
  );
  const extend = instruction(
    payer,
    new Writer().u32(lookupTableInstruction.extend).u64(1n).bytes(addressBytes(bob.address)),
  );
  await ledger.local.ledger.submit(signed(ledger.blockhash, [create, extend], alice), true);
  const made = decodeLookupTable(ledger.local.ledger.accounts.get(table.address).data);
  assert.deepEqual(made?.addresses, [bob.address]);

  const pay = (place: number): Buffer => {
    const data = new Writer().u32(systemInstruction.transfer).u64(77n).finish();
    const bytes = new Writer().u8(0x80).u8(1).u8(0).u8(1).compactU16(2);
    bytes.bytes(addressBytes(alice.address)).bytes(addressBytes(systemProgram));
    bytes.bytes(decodeBase58(ledger.blockhash, 'blockhash')).compactU16(1).u8(1).compactU16(2).u8(0).u8(2);
    bytes.compactU16(data.length).bytes(data);
    bytes.compactU16(1).bytes(addressBytes(table.address)).compactU16(1).u8(place).compactU16(0);
    const message = bytes.finish();
    return serializeTransaction([signEd25519(alice.privateKey, message)], message);
  };
  const before = ledger.balance(bob);
  const status = await ledger.local.ledger.submit(pay(0), true);
  assert.equal(status.err, null);
  assert.equal(ledger.balance(bob), before + 77n);
  const [newest] = await ledger.local.ledger.history(bob.address, {
    before: Number.MAX_SAFE_INTEGER,
    after: 0,
    limit: 1,
  });
  assert.equal(newest?.sequence, status.sequence);
  assert.deepEqual(newest?.meta.loaded, { writable: [bob.address], readonly: [] });
  await assert.rejects(ledger.local.ledger.submit(pay(1), true), isRefused('InvalidAddressLookupTableIndex'));
  assert.equal(ledger.balance(bob), before + 77n);
});

test('a ledger of an earlier release is given the programs and the mint that came since', async () => {
  await ledger.local.stop();
  const sql = await openSqliteFile(join(ledger.folder, 'localnet', 'solana.db'), migrations);
  await sql.run('DELETE FROM account WHERE address IN (?, ?)', lookupTableProgram, nativeMint);
  await sql.close();
  await ledger.restart();
  const { accounts } = ledger.local.ledger;
  assert.ok(accounts.get(lookupTableProgram).executable);
  assert.equal(accounts.get(nativeMint).data[44], 9);
  await ledger.restart();
  assert.ok(ledger.local.ledger.accounts.has(nativeMint));
});
