/**
 * The node behind the routes: its head, its mempool, and the clock that mines. Blocks are made one after the other;
 * everything else is serialised by the database.
 */
import { LRUCache } from 'lru-cache';
import type { MiningMode } from '../../../config/variables/arweave.ts';
import { isTxId } from '../../../formats/base64url.ts';
import { isRecord } from '../../../formats/json.ts';
import { atMost } from '../../../kernel/at-most.ts';
import type { Logger } from '../../../kernel/log.ts';
import { openSqliteFile } from '../../../storage/sql/open.ts';
import type { Sql, SqlExecutor } from '../../../storage/sql/sql.ts';
import { invalidHash, invalidJson, mempoolFull, verificationFailed } from '../errors.ts';
import { migrations } from '../migrations.ts';
import { MAX_PENDING, PROCESSED_MEMORY_MS } from '../rules.ts';
import { acceptTransaction, VerificationFailed } from './accept-transaction.ts';
import { type Block, hashList, readHead } from './blocks.ts';
import { addToCounter, dropPending, mineBlock } from './mine.ts';
import {
  MinedCache,
  pendingIds,
  readPlace,
  readTransaction,
  type StoredTransaction,
  type TransactionPlace,
} from './transactions.ts';
import { readWallet, writeWallet } from './wallets.ts';

interface LocalNodeOptions {
  readonly path: string;
  readonly log: Logger;
  readonly mining: Mining;
  /** Blocks that follow by themselves after one with transactions, so that it gets its confirmations. */
  readonly confirmBlocks: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** When blocks are made. */
export interface Mining {
  readonly mode: MiningMode;
  /** 0 mines only when asked, unless each transaction is mined at once. */
  readonly intervalMs: number;
}

export class LocalNode {
  readonly sql: Sql;
  readonly #headers = new MinedCache(readTransaction, ({ header }) => header.length);
  readonly #places = new MinedCache(readPlace, () => 256);
  readonly #options: LocalNodeOptions;
  /** Ids that are being looked at. */
  readonly #inFlight = new Set<string>();
  /** Ids that were accepted a short while ago. */
  readonly #processed = new LRUCache<string, true>({ ...atMost(100_000), ttl: PROCESSED_MEMORY_MS });
  /** Why transactions were refused, for those who ask by id. */
  readonly #refused = new LRUCache<string, readonly string[]>({
    ...atMost(10_000),
    ttl: PROCESSED_MEMORY_MS,
  });
  #head: Block;
  #pending = 0;
  #confirmationsDue = 0;
  #lastChange: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #mining: Mining;
  #stopped = false;

  private constructor(sql: Sql, head: Block, options: LocalNodeOptions) {
    this.sql = sql;
    this.#head = head;
    this.#options = options;
    this.#mining = options.mining;
  }

  /** Opens the chain at `path`, or begins one. */
  static async open(options: LocalNodeOptions): Promise<LocalNode> {
    const sql = await openSqliteFile(options.path, migrations);
    const now = Math.floor(options.now() / 1_000);
    const head = await sql.transaction(
      async (tx) => (await readHead(tx)) ?? (await mineBlock(tx, { now, takePending: false })),
    );
    const node = new LocalNode(sql, head, options);
    await node.#recount();
    const last = await sql.get<{ height: number | null }>('SELECT max(height) AS height FROM transactions');
    if (typeof last?.height === 'number') {
      node.#confirmationsDue = options.confirmBlocks - (head.height - last.height);
    }
    node.#schedule();
    return node;
  }

  get mining(): Mining {
    return this.#mining;
  }

  /** From now on blocks are made like this. */
  setMining(mining: Mining): void {
    this.#mining = mining;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#schedule();
  }

  get head(): Block {
    return this.#head;
  }

  /** How many transactions wait to be mined. */
  get pending(): number {
    return this.#pending;
  }

  refusalOf(id: string): readonly string[] | undefined {
    return this.#refused.get(id);
  }

  /** A transaction, mined or pending. */
  transaction(id: string): Promise<StoredTransaction | undefined> {
    return this.#headers.read(this.sql, id);
  }

  /** Where it is, if anywhere. */
  place(id: string): Promise<TransactionPlace | undefined> {
    return this.#places.read(this.sql, id);
  }

  /** POST /tx. */
  async post(json: unknown): Promise<'accepted' | 'processed'> {
    const id = idOf(json);
    if (this.#inFlight.has(id)) return 'processed';
    this.#inFlight.add(id);
    try {
      if (await this.#wasProcessed(id)) return 'processed';
      if (this.#pending >= MAX_PENDING) throw mempoolFull();
      await acceptTransaction(this.sql, json);
    } catch (error) {
      if (!(error instanceof VerificationFailed)) throw error;
      this.#refused.set(id, error.codes);
      throw verificationFailed();
    } finally {
      this.#inFlight.delete(id);
    }
    this.#processed.set(id, true);
    this.#refused.delete(id);
    this.#pending += 1;
    if (this.#mining.mode === 'transaction') await this.mine(1);
    this.#schedule();
    return 'accepted';
  }

  /** Mines `count` blocks; the first takes what is pending, without what `fails` picks: that is dropped. */
  async mine(count: number, fails?: (id: string) => boolean): Promise<void> {
    if (fails !== undefined) {
      for (const id of (await pendingIds(this.sql)).filter(fails)) await this.discard(id);
    }
    for (let made = 0; made < count; made += 1) await this.#exclusive(() => this.#mineOne(true));
  }

  /** Replaces the newest `depth` blocks by `blocks` empty ones; their transactions wait to be mined again. */
  fork(depth: number, blocks: number): Promise<Rollback> {
    return this.#exclusive(async () => {
      const { height } = this.#head;
      const now = this.#seconds();
      const result = await this.sql.transaction(async (tx) => {
        const rollback = await rollBack(tx, height - depth + 1, height);
        for (let made = 0; made < blocks; made += 1) await mineBlock(tx, { now, takePending: false });
        return { rollback, head: await readHead(tx) };
      });
      this.#headers.forget();
      this.#places.forget();
      if (result.head !== undefined) this.#head = result.head;
      await this.#recount();
      this.#schedule();
      return result.rollback;
    });
  }

  /** Makes money out of nothing; answers the new balance. */
  mint(address: string, amount: bigint): Promise<bigint> {
    return this.sql.transaction(async (tx) => {
      const wallet = (await readWallet(tx, address)) ?? { balance: 0n, lastTx: '' };
      const balance = wallet.balance + amount;
      await writeWallet(tx, address, { ...wallet, balance });
      await addToCounter(tx, 'minted', amount);
      return balance;
    });
  }

  /** Gives money to those of the addresses that never had any. */
  endow(addresses: readonly string[], amount: bigint): Promise<void> {
    return this.sql.transaction(async (tx) => {
      let made = 0n;
      for (const address of addresses) {
        if ((await readWallet(tx, address)) !== undefined) continue;
        await writeWallet(tx, address, { balance: amount, lastTx: '' });
        made += amount;
      }
      if (made > 0n) await addToCounter(tx, 'minted', made);
    });
  }

  /** Gives a wallet exactly this balance. */
  setBalance(address: string, balance: bigint): Promise<void> {
    return this.sql.transaction(async (tx) => {
      const wallet = (await readWallet(tx, address)) ?? { balance: 0n, lastTx: '' };
      await writeWallet(tx, address, { ...wallet, balance });
      await addToCounter(tx, 'minted', balance - wallet.balance);
    });
  }

  /** Forgets a transaction that waits; answers what became of it. */
  discard(id: string): Promise<'discarded' | 'mined' | 'unknown'> {
    return this.#exclusive(async () => {
      const outcome = await this.sql.transaction(async (tx) => {
        const place = await readPlace(tx, id);
        if (place === undefined) return 'unknown';
        if (place.height !== null) return 'mined';
        await dropPending(tx, { id, ...place });
        return 'discarded';
      });
      await this.#recount();
      return outcome;
    });
  }

  async close(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#lastChange.catch(() => {});
    await this.sql.close();
  }

  /** Accepted a short while ago, and not dropped since. */
  async #wasProcessed(id: string): Promise<boolean> {
    return this.#processed.has(id) && (await readPlace(this.sql, id)) !== undefined;
  }

  async #mineOne(takePending: boolean): Promise<void> {
    const now = this.#seconds();
    this.#head = await this.sql.transaction((tx) => mineBlock(tx, { now, takePending }));
    if (this.#head.txs.length > 0) this.#confirmationsDue = this.#options.confirmBlocks;
    else this.#confirmationsDue -= 1;
    await this.#recount();
  }

  async #recount(): Promise<void> {
    const row = await this.sql.get<{ count: number }>(
      'SELECT count(*) AS count FROM transactions WHERE height IS NULL',
    );
    this.#pending = row?.count ?? 0;
  }

  #seconds(): number {
    return Math.floor(this.#options.now() / 1_000);
  }

  /** Head changes happen one at a time, in the order they were asked for. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastChange.catch(() => {}).then(work);
    this.#lastChange = turn;
    return turn;
  }

  /** Is another block to be made by itself? */
  #isDue(): boolean {
    const { mode } = this.#mining;
    if (mode === 'none') return false;
    return mode === 'interval' || this.#pending > 0 || this.#confirmationsDue > 0;
  }

  #schedule(): void {
    const { intervalMs } = this.#mining;
    if (this.#stopped || intervalMs === 0 || !this.#isDue() || this.#timer !== undefined) return;
    const timer = setTimeout(() => {
      this.#exclusive(() => this.#mineOne(true))
        .catch((error: unknown) => this.#options.log.warn({ err: error }, 'mining failed, trying again'))
        .finally(() => {
          // Mining was changed meanwhile.
          if (this.#timer !== timer) return;
          this.#timer = undefined;
          this.#schedule();
        });
    }, intervalMs);
    this.#timer = timer;
  }
}

function idOf(json: unknown): string {
  if (!isRecord(json)) throw invalidJson();
  const { id } = json;
  if (typeof id !== 'string' || !isTxId(id)) throw invalidHash();
  return id;
}

interface Rollback {
  /** Hashes of the blocks that are orphans now, newest first. */
  readonly orphaned: string[];
  /** Ids of the transactions that are pending again, oldest first. */
  readonly returned: string[];
}

/** Undoes the blocks from `lowest` up to the head at `highest`. What was minted meanwhile stays. */
async function rollBack(tx: SqlExecutor, lowest: number, highest: number): Promise<Rollback> {
  const orphaned = await hashList(tx, lowest, highest);
  const undone = await tx.all<{ address: string; change: string; last_tx: string }>(
    'SELECT address, change, last_tx FROM undo WHERE height >= ? ORDER BY height DESC',
    lowest,
  );
  for (const { address, change, last_tx } of undone) {
    const balance = (await readWallet(tx, address))?.balance ?? 0n;
    await writeWallet(tx, address, { balance: balance - BigInt(change), lastTx: last_tx });
  }
  const returned = await tx.all<{ id: string }>(
    'SELECT id FROM transactions WHERE height >= ? ORDER BY sequence',
    lowest,
  );
  await tx.run(
    `UPDATE transactions SET height = NULL, block_hash = NULL, weave_end = NULL, tx_path = NULL
     WHERE height >= ?`,
    lowest,
  );
  await tx.run('UPDATE blocks SET canonical = 0 WHERE height >= ? AND canonical = 1', lowest);
  await tx.run('DELETE FROM undo WHERE height >= ?', lowest);
  return { orphaned, returned: returned.map((row) => row.id) };
}
