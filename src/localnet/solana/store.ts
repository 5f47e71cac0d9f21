/** The ledger on disk: accounts as they stand, and every transaction that was ever taken, in order. */
import { parseSolanaAddress, type SolanaAddress } from '../../formats/solana/address.ts';
import { systemProgram } from '../../formats/solana/programs.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import type { Account, AccountChanges } from './accounts.ts';
import type { TransactionMeta } from './meta.ts';

export interface StoredTransaction {
  readonly sequence: number;
  readonly signature: string;
  readonly slot: number;
  readonly timeMs: number;
  readonly wire: Buffer;
  readonly meta: TransactionMeta;
}

/** With every account it names. */
export type ExecutedTransaction = StoredTransaction & { readonly keys: readonly SolanaAddress[] };

export interface Genesis {
  readonly seed: Buffer;
  readonly createdMs: number;
  /** What the first accounts were made from, as JSON. */
  readonly settings: string;
}

type TransactionRow = Omit<StoredTransaction, 'meta'> & { readonly meta: string };

const columns = 'sequence, signature, slot, time_ms AS "timeMs", wire, meta';

export class LedgerStore {
  readonly #sql: Sql;
  /** A fork is behind the ledger: which accounts have ended is kept too. */
  readonly #notesEnds: boolean;

  constructor(sql: Sql, { isForked = false } = {}) {
    this.#sql = sql;
    this.#notesEnds = isForked;
  }

  genesis(): Promise<Genesis | undefined> {
    return this.#sql.get('SELECT seed, created_ms AS "createdMs", settings FROM genesis WHERE id = 1');
  }

  async begin(genesis: Genesis, accounts: AccountChanges): Promise<void> {
    await this.#sql.transaction(async (tx) => {
      await tx.run(
        'INSERT INTO genesis (id, seed, created_ms, settings) VALUES (1, ?, ?, ?)',
        genesis.seed,
        genesis.createdMs,
        genesis.settings,
      );
      await writeAccounts(tx, accounts);
    });
  }

  async *accounts(): AsyncGenerator<[SolanaAddress, Account]> {
    const rows = this.#sql.stream<{
      address: string;
      lamports: string;
      owner: string;
      executable: number;
      data: Buffer;
    }>('SELECT address, lamports, owner, executable, data FROM account');
    for await (const row of rows) {
      const account = {
        lamports: BigInt(row.lamports),
        owner: parseSolanaAddress(row.owner),
        executable: row.executable === 1,
        data: row.data,
      };
      yield [parseSolanaAddress(row.address), account];
    }
  }

  /** Accounts that ended here, as far as a fork was behind the ledger. */
  async ended(): Promise<SolanaAddress[]> {
    const rows = await this.#sql.all<{ address: string }>('SELECT address FROM ended_account');
    return rows.map(({ address }) => parseSolanaAddress(address));
  }

  /** Accounts of a fork; what the ledger has itself stays as it is. */
  async takeOver(accounts: ReadonlyMap<SolanaAddress, Account>): Promise<void> {
    await this.#sql.transaction(async (tx) => {
      for (const [address, account] of accounts) {
        await tx.run(
          `INSERT INTO account (address, lamports, owner, executable, data)
           SELECT ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM ended_account WHERE address = ?)
           ON CONFLICT (address) DO NOTHING`,
          ...accountCells(address, account),
          address,
        );
      }
    });
  }

  /** Transactions and the accounts they leave behind, all or none, durable when it resolves. */
  async commit(transactions: readonly ExecutedTransaction[], accounts: AccountChanges): Promise<void> {
    await this.#sql.transaction(async (tx) => {
      for (const entry of transactions) {
        await tx.run(
          'INSERT INTO ledger_transaction (sequence, signature, slot, time_ms, wire, meta) VALUES (?, ?, ?, ?, ?, ?)',
          entry.sequence,
          entry.signature,
          entry.slot,
          entry.timeMs,
          entry.wire,
          JSON.stringify(entry.meta),
        );
        for (const address of entry.keys) {
          // In nearly every transaction, and nobody asks for all of them.
          if (address === systemProgram) continue;
          await tx.run(
            'INSERT INTO address_transaction (address, sequence) VALUES (?, ?)',
            address,
            entry.sequence,
          );
        }
      }
      await writeAccounts(tx, accounts);
      if (this.#notesEnds) await noteEnds(tx, accounts);
    });
  }

  last(): Promise<{ sequence: number; timeMs: number } | undefined> {
    return this.#sql.get(
      'SELECT sequence, time_ms AS "timeMs" FROM ledger_transaction ORDER BY sequence DESC LIMIT 1',
    );
  }

  async bySignature(signature: string): Promise<StoredTransaction | undefined> {
    const row = await this.#sql.get<TransactionRow>(
      `SELECT ${columns} FROM ledger_transaction WHERE signature = ?`,
      signature,
    );
    return row && stored(row);
  }

  async inSlot(slot: number): Promise<StoredTransaction[]> {
    const rows = await this.#sql.all<TransactionRow>(
      `SELECT ${columns} FROM ledger_transaction WHERE slot = ? ORDER BY sequence`,
      slot,
    );
    return rows.map(stored);
  }

  /** How many transactions there were since a slot, by groups of so many slots. */
  async countsSince(slot: number, groupSize: number): Promise<Map<number, number>> {
    const rows = await this.#sql.all<{ part: number; count: number }>(
      `SELECT slot / ? AS part, COUNT(*) AS count FROM ledger_transaction WHERE slot >= ? GROUP BY part`,
      groupSize,
      slot,
    );
    return new Map(rows.map(({ part, count }) => [Number(part), Number(count)]));
  }

  /** Transactions that name an address, newest first, between two places of the log. */
  async byAddress(
    address: SolanaAddress,
    range: { readonly before: number; readonly after: number; readonly limit: number },
  ): Promise<StoredTransaction[]> {
    const rows = await this.#sql.all<TransactionRow>(
      `SELECT ${columns} FROM address_transaction JOIN ledger_transaction USING (sequence)
        WHERE address = ? AND sequence < ? AND sequence > ?
        ORDER BY sequence DESC LIMIT ?`,
      address,
      range.before,
      range.after,
      range.limit,
    );
    return rows.map(stored);
  }

  /** The newest transactions, newest first. */
  async newest(limit: number): Promise<StoredTransaction[]> {
    const rows = await this.#sql.all<TransactionRow>(
      `SELECT ${columns} FROM ledger_transaction ORDER BY sequence DESC LIMIT ?`,
      limit,
    );
    return rows.map(stored);
  }

  /** Signatures and errors since a slot, oldest first: what a restarted ledger must remember having seen. */
  async *since(slot: number): AsyncGenerator<StoredTransaction> {
    const rows = this.#sql.stream<TransactionRow>(
      `SELECT ${columns} FROM ledger_transaction WHERE slot >= ? ORDER BY sequence`,
      slot,
    );
    for await (const row of rows) yield stored(row);
  }
}

const stored = (row: TransactionRow): StoredTransaction => ({ ...row, meta: JSON.parse(row.meta) });

async function writeAccounts(tx: SqlExecutor, accounts: AccountChanges): Promise<void> {
  for (const [address, account] of accounts) {
    if (account === undefined) {
      await tx.run('DELETE FROM account WHERE address = ?', address);
      continue;
    }
    await tx.run(
      `INSERT INTO account (address, lamports, owner, executable, data) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (address) DO UPDATE SET lamports = excluded.lamports, owner = excluded.owner,
         executable = excluded.executable, data = excluded.data`,
      ...accountCells(address, account),
    );
  }
}

const accountCells = (address: SolanaAddress, account: Account) =>
  [address, account.lamports.toString(), account.owner, account.executable ? 1 : 0, account.data] as const;

async function noteEnds(tx: SqlExecutor, accounts: AccountChanges): Promise<void> {
  for (const [address, account] of accounts) {
    if (account !== undefined) continue;
    await tx.run('INSERT INTO ended_account (address) VALUES (?) ON CONFLICT (address) DO NOTHING', address);
  }
}
