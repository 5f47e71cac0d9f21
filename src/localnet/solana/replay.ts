/** Executes a ledger's whole log again from its first block: the accounts must come out byte for byte. */
import { createHash } from 'node:crypto';
import { parseTransaction } from '../../formats/solana/transaction.ts';
import { AccountStore } from './accounts.ts';
import { type GenesisSettings, genesisAccounts } from './genesis.ts';
import { programTable } from './programs/index.ts';
import { executeTransaction } from './runtime/execute.ts';
import type { Genesis, StoredTransaction } from './store.ts';

/** Throws where an entry ends otherwise than it did. */
export async function replay(
  genesis: Genesis,
  settings: GenesisSettings,
  log: AsyncIterable<StoredTransaction>,
): Promise<AccountStore> {
  const accounts = new AccountStore();
  accounts.apply(genesisAccounts(genesis.seed, genesis.createdMs, settings));
  const programs = programTable(settings.programs);
  for await (const entry of log) {
    const { message } = parseTransaction(entry.wire);
    const time = { slot: entry.slot, now: Math.floor(entry.timeMs / 1000) };
    const execution = executeTransaction(message, accounts, programs, time);
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
export function digestOf(accounts: AccountStore): string {
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
