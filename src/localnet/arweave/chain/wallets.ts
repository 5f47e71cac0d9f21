/**
 * Balances. Within one transaction of the database wallets are loaded once, changed in memory and written back
 * together; `wallet_list` is a hash over all of them, kept per bucket so that a block only touches what it changed.
 */
import { createHash } from 'node:crypto';
import { decodeBase64url, encodeBase64url } from '../../../formats/base64url.ts';
import { deepHash } from '../../../formats/deep-hash.ts';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';

export interface Wallet {
  balance: bigint;
  /** Id of the last transaction that left the wallet, empty before the first. */
  lastTx: string;
}

interface WalletRow {
  address: string;
  balance: string;
  last_tx: string;
}

interface LoadedWallet extends Wallet {
  readonly before: Wallet | undefined;
}

export class Wallets {
  readonly #tx: SqlExecutor;
  readonly #loaded = new Map<string, LoadedWallet | undefined>();

  constructor(tx: SqlExecutor) {
    this.#tx = tx;
  }

  /** undefined for an address that never held anything. */
  async get(address: string): Promise<Readonly<Wallet> | undefined> {
    if (!this.#loaded.has(address)) {
      const row = await readWallet(this.#tx, address);
      this.#loaded.set(address, row && { ...row, before: { ...row } });
    }
    return this.#loaded.get(address);
  }

  /** Adds to (or, negative, takes from) a balance; the caller has checked that it stays above zero. */
  async add(address: string, amount: bigint): Promise<void> {
    const wallet = await this.#open(address);
    wallet.balance += amount;
    if (wallet.balance < 0n) throw new Error(`the balance of ${address} would be negative`);
  }

  async setLastTx(address: string, id: string): Promise<void> {
    (await this.#open(address)).lastTx = id;
  }

  /** Writes what changed; answers it as change of balance and last_tx before, for the undo record. */
  async save(): Promise<{ address: string; change: bigint; lastTxBefore: string }[]> {
    const changes = [];
    for (const [address, wallet] of this.#loaded) {
      if (wallet === undefined) continue;
      const change = wallet.balance - (wallet.before?.balance ?? 0n);
      const lastTxBefore = wallet.before?.lastTx ?? '';
      if (wallet.before !== undefined && change === 0n && wallet.lastTx === lastTxBefore) continue;
      await writeWallet(this.#tx, address, wallet);
      changes.push({ address, change, lastTxBefore });
    }
    return changes;
  }

  async #open(address: string): Promise<LoadedWallet> {
    await this.get(address);
    const wallet = this.#loaded.get(address) ?? { balance: 0n, lastTx: '', before: undefined };
    this.#loaded.set(address, wallet);
    return wallet;
  }
}

export async function readWallet(sql: SqlExecutor, address: string): Promise<Wallet | undefined> {
  const row = await sql.get<WalletRow>(
    'SELECT address, balance, last_tx FROM wallets WHERE address = ?',
    address,
  );
  return row && { balance: BigInt(row.balance), lastTx: row.last_tx };
}

/** Writes a wallet; one that is as if it had never been is removed, so that a fork leaves no trace. */
export async function writeWallet(tx: SqlExecutor, address: string, wallet: Wallet): Promise<void> {
  const bucket = bucketOf(address);
  if (wallet.balance === 0n && wallet.lastTx === '') {
    await tx.run('DELETE FROM wallets WHERE address = ?', address);
  } else {
    await tx.run(
      `INSERT INTO wallets (address, bucket, balance, last_tx) VALUES (?, ?, ?, ?)
       ON CONFLICT (address) DO UPDATE SET balance = excluded.balance, last_tx = excluded.last_tx`,
      address,
      bucket,
      wallet.balance,
      wallet.lastTx,
    );
  }
  await tx.run('DELETE FROM wallet_buckets WHERE bucket = ?', bucket);
}

const bucketOf = (address: string): number => decodeBase64url(address, 'address')[0] ?? 0;

/** Hash over all wallets: SHA-384 of the hashes of the 256 buckets, each the deep hash of its wallets in order. */
export async function walletListHash(tx: SqlExecutor): Promise<string> {
  const kept = await tx.all<{ bucket: number; hash: Buffer }>('SELECT bucket, hash FROM wallet_buckets');
  const hashes = new Map(kept.map((row) => [row.bucket, row.hash]));
  const all = createHash('sha384');
  for (let bucket = 0; bucket < 256; bucket += 1) {
    const hash = hashes.get(bucket) ?? (await hashBucket(tx, bucket));
    all.update(hash);
  }
  return encodeBase64url(all.digest());
}

async function hashBucket(tx: SqlExecutor, bucket: number): Promise<Buffer> {
  const rows = await tx.all<WalletRow>(
    'SELECT address, balance, last_tx FROM wallets WHERE bucket = ? ORDER BY address',
    bucket,
  );
  const hash = deepHash(rows.map((row) => [row.address, row.balance, row.last_tx]));
  await tx.run(
    `INSERT INTO wallet_buckets (bucket, hash) VALUES (?, ?)
     ON CONFLICT (bucket) DO UPDATE SET hash = excluded.hash`,
    bucket,
    hash,
  );
  return hash;
}

/** The sum of all balances. */
export async function totalSupply(sql: SqlExecutor): Promise<bigint> {
  const rows = await sql.all<{ balance: string }>('SELECT balance FROM wallets');
  return rows.reduce((sum, row) => sum + BigInt(row.balance), 0n);
}
