/**
 * What may be spent for a model: so much in one call, in one session, and on one day with one key, whoever asks and
 * however often the program is started. It is counted before anything is sent, in a file that processes share; what
 * turns out to cost less, or nothing, is given back. What nobody knows the outcome of stays counted.
 */
import { StartupError } from '../../kernel/errors.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import type { Migration, Sql, SqlExecutor } from '../../storage/sql/sql.ts';

/** Credits in winc, or dollars in millionths. */
export type Currency = 'winc' | 'usdc';

export interface Limits {
  readonly call: bigint;
  readonly session: bigint;
  readonly day: bigint;
}

export type SpendingLimits = Readonly<Record<Currency, Limits>>;

const migrations: readonly Migration[] = [
  {
    id: 'mcp-001-spending',
    up: `
CREATE TABLE spending (
  wallet TEXT NOT NULL,
  currency TEXT NOT NULL,
  day TEXT NOT NULL,
  amount AMOUNT NOT NULL,
  PRIMARY KEY (wallet, currency, day)
);`,
  },
];

/** A limit does not allow it: nothing was sent. */
export class SpendingRefused extends StartupError {}

export interface Reservation {
  /** It cost this, which is no more than was reserved. */
  settle(actual: bigint): Promise<void>;
  /** It cost nothing. */
  release(): Promise<void>;
}

export interface SpendingLeft {
  readonly call: bigint;
  readonly session: bigint;
  readonly day: bigint;
}

export class Spending {
  readonly #sql: Sql;
  readonly #wallet: string;
  readonly #limits: SpendingLimits;
  readonly #now: () => number;

  private constructor(sql: Sql, wallet: string, limits: SpendingLimits, now: () => number) {
    this.#sql = sql;
    this.#wallet = wallet;
    this.#limits = limits;
    this.#now = now;
  }

  static async open(
    path: string,
    wallet: string,
    limits: SpendingLimits,
    now: () => number = Date.now,
  ): Promise<Spending> {
    return new Spending(await openSqliteFile(path, migrations), wallet, limits, now);
  }

  close(): Promise<void> {
    return this.#sql.close();
  }

  session(): SpendingSession {
    return new SpendingSession(this.#limits, {
      add: (currency, amount) => this.#add(currency, amount),
      spentToday: (currency) => this.#spent(this.#sql, currency, this.#today()),
    });
  }

  #today(): string {
    return new Date(this.#now()).toISOString().slice(0, 10);
  }

  /** Counts it on today, and answers how to give a part back. */
  async #add(currency: Currency, amount: bigint): Promise<(back: bigint) => Promise<void>> {
    const day = this.#today();
    await this.#sql.transaction(async (tx) => {
      const spent = await this.#spent(tx, currency, day);
      if (spent + amount > this.#limits[currency].day) {
        throw refusal(currency, amount, 'day', this.#limits[currency].day - spent);
      }
      await this.#write(tx, currency, day, spent + amount);
    });
    return (back) =>
      this.#sql.transaction(async (tx) => {
        await this.#write(tx, currency, day, (await this.#spent(tx, currency, day)) - back);
      });
  }

  async #spent(sql: SqlExecutor, currency: Currency, day: string): Promise<bigint> {
    const row = await sql.get<{ amount: string }>(
      'SELECT amount FROM spending WHERE wallet = ? AND currency = ? AND day = ?',
      this.#wallet,
      currency,
      day,
    );
    return BigInt(row?.amount ?? 0);
  }

  async #write(tx: SqlExecutor, currency: Currency, day: string, amount: bigint): Promise<void> {
    await tx.run(
      `INSERT INTO spending (wallet, currency, day, amount) VALUES (?, ?, ?, ?)
       ON CONFLICT (wallet, currency, day) DO UPDATE SET amount = excluded.amount`,
      this.#wallet,
      currency,
      day,
      amount.toString(),
    );
  }
}

interface DayCount {
  add(currency: Currency, amount: bigint): Promise<(back: bigint) => Promise<void>>;
  spentToday(currency: Currency): Promise<bigint>;
}

export class SpendingSession {
  readonly #limits: SpendingLimits;
  readonly #days: DayCount;
  readonly #spent: Record<Currency, bigint> = { winc: 0n, usdc: 0n };

  constructor(limits: SpendingLimits, days: DayCount) {
    this.#limits = limits;
    this.#days = days;
  }

  /** Throws `SpendingRefused` where a limit does not allow it. */
  async reserve(currency: Currency, amount: bigint): Promise<Reservation> {
    const { call, session } = this.#limits[currency];
    if (amount > call) throw refusal(currency, amount, 'call', call);
    if (this.#spent[currency] + amount > session) {
      throw refusal(currency, amount, 'session', session - this.#spent[currency]);
    }
    // At once, so that calls beside each other see it.
    this.#spent[currency] += amount;
    let giveBack: (back: bigint) => Promise<void>;
    try {
      giveBack = await this.#days.add(currency, amount);
    } catch (error) {
      this.#spent[currency] -= amount;
      throw error;
    }
    const settle = async (actual: bigint): Promise<void> => {
      const back = actual < amount ? amount - actual : 0n;
      if (back === 0n) return;
      this.#spent[currency] -= back;
      await giveBack(back);
    };
    return { settle, release: () => settle(0n) };
  }

  async left(currency: Currency): Promise<SpendingLeft> {
    const { call, session, day } = this.#limits[currency];
    const spentToday = await this.#days.spentToday(currency);
    return {
      call,
      session: session - this.#spent[currency],
      day: day > spentToday ? day - spentToday : 0n,
    };
  }
}

function refusal(currency: Currency, amount: bigint, limit: keyof Limits, left: bigint): SpendingRefused {
  const unit = currency === 'winc' ? 'winc' : 'millionths of a dollar';
  return new SpendingRefused(
    `it would cost ${amount} ${unit}, and the limit for one ${limit} leaves ${left < 0n ? 0n : left}: nothing was sent`,
  );
}
