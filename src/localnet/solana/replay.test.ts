import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { addressBytes, type SolanaAddress } from '../../formats/solana/address.ts';
import { Writer } from '../../formats/solana/bytes.ts';
import { type Instruction, readOnly, signer, writable } from '../../formats/solana/message.ts';
import { nonceAccountSize } from '../../formats/solana/nonce.ts';
import { namePrograms, rentExemptMinimum, systemProgram, sysvars } from '../../formats/solana/programs.ts';
import { createAccount, memo, systemInstruction, transferLamports } from '../../formats/solana/system.ts';
import { parseTransaction } from '../../formats/solana/transaction.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import { AccountStore } from './accounts.ts';
import { type GenesisSettings, genesisAccounts } from './genesis.ts';
import { environmentOf, TransactionRefused } from './ledger.ts';
import { openLedger } from './local-solana.ts';
import { migrations } from './migrations.ts';
import { programTable } from './programs/program-table.ts';
import { executeTransaction } from './runtime/execute.ts';
import { Slots } from './slots.ts';
import { type Genesis, LedgerStore, type StoredTransaction } from './store.ts';
import { TestLedger, wallet } from './testing.ts';

test('the log executed again from the first block gives the same accounts, also after a restart', async () => {
  const random = seededRandom(42);
  const people = ['a', 'b', 'c', 'd'].map(wallet);
  const ledger = await TestLedger.start({ fund: [people[0]!.address] });
  try {
    for (const person of people) await ledger.rpc('requestAirdrop', person.address, 3_000_000_000);
    const nonce = wallet('nonce');
    const [holder] = people;
    await ledger.send(nonceAccount(holder!.address, nonce.address), holder!, nonce);
    let failed = 0;
    for (let round = 0; round < 150; round += 1) {
      const from = random.pick(people);
      const to = random.pick(people);
      const amount = 10n ** BigInt(random.between(5, 10));
      const instructions = [transferLamports(from.address, to.address, amount), memo(`round ${round}`)];
      try {
        const status = await ledger.sendAnyway(instructions, from);
        if (status.err !== null) failed += 1;
      } catch (error) {
        assert.ok(error instanceof TransactionRefused);
      }
      if (round % 10 === 0) await ledger.send([advanceNonce(holder!.address, nonce.address)], holder!);
      if (round === 75) await ledger.restart();
    }
    assert.ok(failed > 3);
    ledger.skipSeconds(86_400);
    assert.equal(await ledger.local.upkeep(), 1);
    const expected = digestOf(ledger.local.ledger.accounts);
    const count = ledger.local.ledger.transactionCount;
    await ledger.local.stop();

    const sql = await openSqliteFile(join(ledger.folder, 'localnet', 'solana.db'), migrations);
    const settings = { programs: namePrograms.mainnet, registryCapacity: 1, demandFactor: 1 };
    const opened = await openLedger(sql, settings, () => ledger.time);
    assert.equal(digestOf(opened.ledger.accounts), expected);
    assert.equal(opened.ledger.transactionCount, count);
    const again = await replay(opened.genesis, opened.settings, new LedgerStore(sql).since(0));
    assert.equal(digestOf(again), expected);
    await sql.close();
  } finally {
    await ledger.stop();
  }
});

function nonceAccount(payer: SolanaAddress, nonce: SolanaAddress): Instruction[] {
  const rent = rentExemptMinimum(nonceAccountSize);
  const initialize = new Writer().u32(systemInstruction.initializeNonce).bytes(addressBytes(payer)).finish();
  return [
    createAccount(payer, nonce, rent, nonceAccountSize, systemProgram),
    {
      programId: systemProgram,
      accounts: [writable(nonce), readOnly(sysvars.recentBlockhashes), readOnly(sysvars.rent)],
      data: initialize,
    },
  ];
}

function advanceNonce(authority: SolanaAddress, nonce: SolanaAddress): Instruction {
  return {
    programId: systemProgram,
    accounts: [writable(nonce), readOnly(sysvars.recentBlockhashes), signer(authority)],
    data: new Writer().u32(systemInstruction.advanceNonce).finish(),
  };
}

/** Executes the whole log again from the first block: the accounts must come out byte for byte. Throws where an entry ends otherwise. */
async function replay(
  genesis: Genesis,
  settings: GenesisSettings,
  log: AsyncIterable<StoredTransaction>,
): Promise<AccountStore> {
  const accounts = new AccountStore();
  accounts.apply(genesisAccounts(genesis.seed, genesis.createdMs, settings));
  const programs = programTable(settings.programs);
  const slots = new Slots(genesis.seed, genesis.createdMs, () => genesis.createdMs);
  for await (const entry of log) {
    const { message } = parseTransaction(entry.wire);
    const moment = { slot: entry.slot, ms: entry.timeMs };
    const environment = environmentOf(slots, moment, entry.sequence);
    const execution = executeTransaction(message, accounts, programs, environment);
    const outcome = JSON.stringify(execution.error ?? null);
    if (outcome !== JSON.stringify(entry.meta.err)) {
      throw new Error(
        `transaction ${entry.sequence} ended ${JSON.stringify(entry.meta.err)}, now ${outcome}`,
      );
    }
    accounts.apply(execution.changes);
  }
  return accounts;
}

/** One hash over every account, in order of address. */
function digestOf(accounts: AccountStore): string {
  const hash = createHash('sha256');
  const entries = [...accounts.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [address, account] of entries) {
    hash.update(
      `${address} ${account.lamports} ${account.owner} ${account.executable} ${account.data.length}\n`,
    );
    hash.update(account.data);
  }
  return hash.digest('hex');
}
