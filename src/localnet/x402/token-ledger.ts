/**
 * The token that payments are made in, as far as a chain would keep it: balances per network, and every
 * authorisation that was used, with the transaction and block that used it. Durable; a transfer is one SQL
 * transaction.
 */
import { createHash } from 'node:crypto';
import type { TransferAuthorization } from '../../formats/x402/payment.ts';
import { noncePlace } from '../../formats/x402/permit2.ts';
import type { Migration, Sql, SqlExecutor } from '../../storage/sql/sql.ts';

export const migrations: readonly Migration[] = [
  {
    id: 'x402-001-token-ledger',
    up: `
      CREATE TABLE balances (
        network TEXT NOT NULL,
        address TEXT NOT NULL,
        amount AMOUNT NOT NULL,
        PRIMARY KEY (network, address)
      );
      CREATE TABLE transfers (
        height SERIAL_KEY,
        network TEXT NOT NULL,
        from_address TEXT NOT NULL,
        nonce TEXT NOT NULL,
        to_address TEXT NOT NULL,
        value AMOUNT NOT NULL,
        transaction_hash TEXT NOT NULL UNIQUE,
        created_at BIGINT NOT NULL
      );
      CREATE UNIQUE INDEX transfers_by_nonce ON transfers (network, from_address, nonce)
    `,
  },
  {
    id: 'x402-002-permits',
    up: `
      ALTER TABLE transfers ADD COLUMN input TEXT;
      CREATE INDEX transfers_between ON transfers (network, from_address, to_address, height)
    `,
  },
];

export interface Transfer {
  readonly height: number;
  readonly from: string;
  readonly to: string;
  /** Of the authorisation; of a transaction that its sender sent, `#` and the sender's number. */
  readonly nonce: string;
  readonly value: bigint;
  readonly transaction: string;
  /** What the contract was called with; undefined where it was the token itself. */
  readonly input: string | undefined;
}

/** A transfer that its sender sends without an authorisation. */
export interface SentTransfer extends Pick<Transfer, 'from' | 'to' | 'value' | 'transaction'> {
  readonly number: bigint;
}

/** A transfer that a permit allows. Its nonce is a bit of a map: written so that those of one word are neighbours. */
export interface PermittedTransfer {
  readonly authorization: TransferAuthorization;
  /** What is taken; the authorisation's value is the most. */
  readonly amount: bigint;
  readonly input: string;
}

const permitNonce = ({ word, bit }: ReturnType<typeof noncePlace>): string =>
  `permit2:${word.toString(16)}:${bit}`;

/** Transfers in one answer. */
const mostListed = 1_000;
/** The most that one address may hold, far above all dollars there are. */
const mostHeld = 10n ** 30n;

/** The balance does not cover the transfer, or the authorisation was used. */
export class TransferRefused extends Error {
  override readonly name = 'TransferRefused';
  readonly kind: 'funds' | 'nonce';

  constructor(kind: 'funds' | 'nonce') {
    super(`transfer refused: ${kind}`);
    this.kind = kind;
  }
}

export class TokenLedger {
  readonly #sql: Sql;
  readonly #now: () => number;

  constructor(sql: Sql, now: () => number) {
    this.#sql = sql;
    this.#now = now;
  }

  async balance(network: string, address: string): Promise<bigint> {
    return readBalance(this.#sql, network, address);
  }

  async mint(network: string, address: string, amount: bigint): Promise<bigint> {
    return this.#sql.transaction(async (tx) => {
      const held = (await readBalance(tx, network, address)) + amount;
      if (held > mostHeld) throw new RangeError('more than there is');
      await writeBalance(tx, network, address, held);
      return held;
    });
  }

  /** Gives to those of the addresses that never had any. */
  async endow(network: string, addresses: readonly string[], amount: bigint): Promise<void> {
    await this.#sql.transaction(async (tx) => {
      for (const address of addresses) {
        await tx.run(
          'INSERT INTO balances (network, address, amount) VALUES (?, ?, ?) ON CONFLICT (network, address) DO NOTHING',
          network,
          address.toLowerCase(),
          amount.toString(),
        );
      }
    });
  }

  async transferOf(network: string, from: string, nonce: string): Promise<Transfer | undefined> {
    return readTransfer(this.#sql, network, from, nonce);
  }

  /** The word of a wallet's map of used nonces. */
  async usedNonces(network: string, from: string, word: bigint): Promise<bigint> {
    const prefix = `permit2:${word.toString(16)}:`;
    const rows = await this.#sql.all<{ nonce: string }>(
      'SELECT nonce FROM transfers WHERE network = ? AND from_address = ? AND nonce >= ? AND nonce < ?',
      network,
      from.toLowerCase(),
      prefix,
      `${prefix};`,
    );
    return rows.reduce((bits, { nonce }) => bits | (1n << BigInt(nonce.slice(prefix.length))), 0n);
  }

  /** What one address gave another in these blocks, both included, oldest first. */
  async transfersBetween(
    network: string,
    { from, to }: { readonly from: string | undefined; readonly to: string },
    heights: { readonly first: number; readonly last: number },
  ): Promise<Transfer[]> {
    const rows = await this.#sql.all<{ from_address: string; nonce: string }>(
      `SELECT from_address, nonce FROM transfers WHERE network = ? AND to_address = ?
       ${from === undefined ? '' : 'AND from_address = ?'} AND height >= ? AND height <= ? ORDER BY height LIMIT ?`,
      network,
      to.toLowerCase(),
      ...(from === undefined ? [] : [from.toLowerCase()]),
      heights.first,
      heights.last,
      mostListed,
    );
    const found: Transfer[] = [];
    for (const { nonce, from_address: holder } of rows) {
      const transfer = await this.transferOf(network, holder, nonce);
      if (transfer !== undefined) found.push(transfer);
    }
    return found;
  }

  /** By the hash of its transaction. */
  async transferIn(network: string, transaction: string): Promise<Transfer | undefined> {
    const row = await this.#sql.get<{ from_address: string; nonce: string }>(
      'SELECT from_address, nonce FROM transfers WHERE network = ? AND transaction_hash = ?',
      network,
      transaction,
    );
    return row && this.transferOf(network, row.from_address, row.nonce);
  }

  async height(network: string): Promise<number> {
    const row = await this.#sql.get<{ height: number | null }>(
      'SELECT MAX(height) AS height FROM transfers WHERE network = ?',
      network,
    );
    return row?.height ?? 0;
  }

  /** Moves the value and uses the authorisation up; throws `TransferRefused` and then moves nothing. */
  async transfer(network: string, authorization: TransferAuthorization): Promise<Transfer> {
    return this.#transfer(network, authorization, undefined);
  }

  /** The same by a permit; throws where more is to be taken than it allows. */
  async transferPermitted(network: string, permitted: PermittedTransfer): Promise<Transfer> {
    const { authorization, amount, input } = permitted;
    if (amount > authorization.value) throw new RangeError('more than the permit allows');
    const nonce = permitNonce(noncePlace(authorization.nonce));
    return this.#transfer(network, { ...authorization, nonce, value: amount }, input);
  }

  async #transfer(
    network: string,
    authorization: TransferAuthorization,
    input: string | undefined,
  ): Promise<Transfer> {
    const from = authorization.from.toLowerCase();
    const to = authorization.to.toLowerCase();
    const { nonce, value } = authorization;
    const transaction = `0x${createHash('sha256').update(`${network}\n${from}\n${nonce}`).digest('hex')}`;
    return this.#move(network, { from, to, nonce, value, transaction, input });
  }

  /** How many transactions an address has sent, up to a block. */
  async sent(network: string, from: string, height = Number.MAX_SAFE_INTEGER): Promise<number> {
    return countSent(this.#sql, network, from, height);
  }

  /** Moves what the sender of a transaction holds; throws `TransferRefused` and then moves nothing. */
  async send(network: string, { number, ...transfer }: SentTransfer): Promise<Transfer> {
    const [from, to] = [transfer.from.toLowerCase(), transfer.to.toLowerCase()];
    return this.#move(
      network,
      { ...transfer, from, to, nonce: `#${number}`, input: undefined },
      Number(number),
    );
  }

  #move(network: string, transfer: Omit<Transfer, 'height'>, number?: number): Promise<Transfer> {
    const { from, to, nonce, value, transaction, input } = transfer;
    return this.#sql.transaction(async (tx) => {
      if ((await readTransfer(tx, network, from, nonce)) !== undefined) throw new TransferRefused('nonce');
      if (number !== undefined && number !== (await countSent(tx, network, from))) {
        throw new TransferRefused('nonce');
      }
      const left = (await readBalance(tx, network, from)) - value;
      if (left < 0n) throw new TransferRefused('funds');
      await writeBalance(tx, network, from, left);
      await writeBalance(tx, network, to, (await readBalance(tx, network, to)) + value);
      const row = await tx.get<{ height: number }>(
        `INSERT INTO transfers (network, from_address, nonce, to_address, value, transaction_hash, created_at, input)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING height`,
        network,
        from,
        nonce,
        to,
        value.toString(),
        transaction,
        this.#now(),
        input ?? null,
      );
      return { height: row?.height ?? 0, from, to, nonce, value, transaction, input };
    });
  }
}

async function countSent(
  tx: SqlExecutor,
  network: string,
  from: string,
  height = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const row = await tx.get<{ sent: number }>(
    `SELECT COUNT(*) AS sent FROM transfers
     WHERE network = ? AND from_address = ? AND nonce LIKE '#%' AND height <= ?`,
    network,
    from.toLowerCase(),
    height,
  );
  return row?.sent ?? 0;
}

async function readBalance(tx: SqlExecutor, network: string, address: string): Promise<bigint> {
  const row = await tx.get<{ amount: string }>(
    'SELECT amount FROM balances WHERE network = ? AND address = ?',
    network,
    address.toLowerCase(),
  );
  return BigInt(row?.amount ?? 0);
}

async function writeBalance(
  tx: SqlExecutor,
  network: string,
  address: string,
  amount: bigint,
): Promise<void> {
  await tx.run(
    `INSERT INTO balances (network, address, amount) VALUES (?, ?, ?)
     ON CONFLICT (network, address) DO UPDATE SET amount = excluded.amount`,
    network,
    address.toLowerCase(),
    amount.toString(),
  );
}

async function readTransfer(
  tx: SqlExecutor,
  network: string,
  from: string,
  nonce: string,
): Promise<Transfer | undefined> {
  const row = await tx.get<{
    height: number;
    to_address: string;
    value: string;
    transaction_hash: string;
    input: string | null;
  }>(
    `SELECT height, to_address, value, transaction_hash, input FROM transfers
     WHERE network = ? AND from_address = ? AND nonce = ?`,
    network,
    from.toLowerCase(),
    nonce,
  );
  if (row === undefined) return undefined;
  const { height, to_address: to, transaction_hash: transaction } = row;
  return { height, from, to, nonce, value: BigInt(row.value), transaction, input: row.input ?? undefined };
}
