/**
 * A database that processes of the simulated world share: a real SQLite in memory behind the product's own interface. Each
 * question takes its time, and a commit and the answer to it are two events. So a process may die before its commit, after
 * it, and before it heard of it.
 *
 * Transactions run one after the other, as SQLite runs them. As a PostgreSQL it may also run a transaction's work again, go
 * away and come back, and lose the answer to a commit.
 */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { statementsFor } from '../../src/storage/sql/migrations.ts';
import {
  DatabaseUnavailable,
  type Migration,
  OutcomeUnknown,
  type Sql,
  type SqlExecutor,
  type SqlValue,
} from '../../src/storage/sql/sql.ts';
import { translated } from '../../src/storage/sql/sqlite/connection.ts';
import { SqliteStatement } from '../../src/storage/sql/sqlite/statement.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { currentLife, type Life } from './process.ts';
import type { World } from './world.ts';

/** How the database is at the moment; chances are from 0 to 1. */
export interface DatabaseWeather {
  /** Nobody is let in, and who is in is thrown out. */
  down: boolean;
  /** Milliseconds of one question, at most; most are much faster. */
  slowest: number;
  /** The work of a transaction is run again. */
  repeatWork: number;
  /** What became of a commit is not told: it happened, or it did not. */
  loseCommits: number;
}

const fair: DatabaseWeather = { down: false, slowest: 3, repeatWork: 0, loseCommits: 0 };
/** Who waits longer for others, and who does nothing in a transaction for longer, is thrown out. */
const timeoutMs = 30_000;

/** What a database is when it was migrated, by the names of its migrations: to migrate takes as long as a simulated hour. */
const migrated = new Map<string, DatabaseContents>();

interface DatabaseContents {
  readonly tables: string;
  readonly rows: readonly { readonly insert: string; readonly values: SQLInputValue[] }[];
  /** Indexes, and triggers, which rows of the beginning do not pull. */
  readonly rest: string;
}

function contentsOf(engine: DatabaseSync): DatabaseContents {
  const parts = engine
    .prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    .all()
    .map(({ type, name, sql }) => ({ type, name: String(name), sql: String(sql) }));
  const tables = parts.filter(({ type }) => type === 'table');
  const written = (some: typeof parts) => some.map(({ sql }) => `${sql};`).join('\n');
  return {
    tables: written(tables),
    rest: written(parts.filter(({ type }) => type !== 'table')),
    rows: tables.flatMap(({ name }) =>
      engine
        .prepare(`SELECT * FROM "${name}"`)
        .all()
        .map((row) => {
          const columns = Object.keys(row);
          const places = columns.map(() => '?').join(', ');
          const insert = `INSERT INTO "${name}" ("${columns.join('", "')}") VALUES (${places})`;
          return { insert, values: Object.values(row) };
        }),
    ),
  };
}

function fill(engine: DatabaseSync, { tables, rows, rest }: DatabaseContents): void {
  engine.exec('PRAGMA foreign_keys = OFF');
  engine.exec(tables);
  for (const { insert, values } of rows) engine.prepare(insert).run(...values);
  engine.exec(rest);
}

/** The statement of a text, made once. */
type Prepared = (text: string) => SqliteStatement;

interface Turn {
  readonly life: Life;
  /** Let in, or turned away. */
  readonly begin: (error?: Error) => void;
}

export class SimulatedDatabase {
  readonly name: string;
  readonly weather: DatabaseWeather = { ...fair };
  /** Milliseconds by which its clock is ahead of the truth. */
  clockAhead = 0;
  readonly #world: World;
  readonly #engine = new DatabaseSync(':memory:');
  readonly #statements = new Map<string, SqliteStatement>();
  readonly #random: SeededRandom;
  readonly #waiting: Turn[] = [];
  /** Who is in a transaction. */
  #inside: Transaction | undefined;
  #hasCopy = false;

  constructor(world: World, name: string, migrations: readonly Migration[]) {
    this.#world = world;
    this.name = name;
    this.#random = world.random(`database ${name}`);
    // The engine would ask the machine for the time.
    this.#engine.function('unixepoch', { varargs: true, deterministic: false }, (...given) =>
      given.length > 0 && given[0] === 'subsec' ? this.#now() / 1_000 : Math.floor(this.#now() / 1_000),
    );
    const kind = migrations.map(({ id }) => id).join(' ');
    const known = migrated.get(kind);
    if (known === undefined) {
      this.#engine.exec('PRAGMA foreign_keys = ON');
      for (const migration of migrations) this.#engine.exec(statementsFor('sqlite', migration));
      migrated.set(kind, contentsOf(this.#engine));
    } else fill(this.#engine, known);
    this.#engine.exec('PRAGMA foreign_keys = ON');
    world.atEnd(() => this.#engine.close());
  }

  #now(): number {
    return Math.floor(this.#world.now + this.clockAhead);
  }

  /** For the checks of the world: what is committed, at once. */
  look<T>(text: string, ...values: SqlValue[]): T[] {
    if (this.#inside === undefined) return this.#prepared(text).all<T>(values);
    throw new Error('somebody is in a transaction');
  }

  /** Whether what is committed can be looked at now. */
  get isQuiet(): boolean {
    return this.#inside === undefined;
  }

  /** Keeps a copy of what is committed, as a backup does; the one before it is gone. */
  backUp(): void {
    if (this.#hasCopy) this.#engine.exec('DETACH copy');
    this.#hasCopy = true;
    this.#engine.exec("ATTACH ':memory:' AS copy");
    for (const name of this.#tables())
      this.#engine.exec(`CREATE TABLE copy."${name}" AS SELECT * FROM main."${name}"`);
    this.#engine.exec('CREATE TABLE copy.serials AS SELECT * FROM main.sqlite_sequence');
  }

  /** Everything is as it was when the copy was made. Nobody is let in meanwhile, and who is inside is thrown out. */
  restore(): void {
    while (this.#inside !== undefined) this.cut();
    const engine = this.#engine;
    engine.exec('PRAGMA foreign_keys = OFF');
    engine.exec('BEGIN');
    for (const name of this.#tables()) {
      engine.exec(`DELETE FROM main."${name}"`);
      engine.exec(`INSERT INTO main."${name}" SELECT * FROM copy."${name}"`);
    }
    engine.exec('DELETE FROM main.sqlite_sequence');
    engine.exec('INSERT INTO main.sqlite_sequence SELECT * FROM copy.serials');
    engine.exec('COMMIT');
    engine.exec('PRAGMA foreign_keys = ON');
  }

  /** For who restores it, while nobody is inside: what is done takes no simulated time. */
  atOnce(): SqlExecutor {
    const run = (text: string) => this.#prepared(text);
    return {
      engine: 'sqlite',
      forUpdate: '',
      all: async <T>(text: string, ...values: SqlValue[]) => run(text).all<T>(values),
      get: async <T>(text: string, ...values: SqlValue[]) => run(text).get<T>(values),
      run: async (text, ...values) => run(text).run(values),
    };
  }

  #tables(): string[] {
    const text = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    return this.#prepared(text)
      .all<{ name: string }>([])
      .map(({ name }) => name);
  }

  /** Puts everybody out, as a server that dies does. */
  cut(): void {
    this.#inside?.abandon();
  }

  /** The database as the code of the running process sees it. */
  open(): Sql {
    const life = currentLife();
    const alone = <T>(text: string, values: readonly SqlValue[], kind: 'all' | 'get' | 'run') =>
      this.#alone<T>(life, text, values, kind);
    return {
      engine: 'sqlite',
      forUpdate: '',
      all: <T>(text: string, ...values: SqlValue[]) => alone<T[]>(text, values, 'all'),
      get: <T>(text: string, ...values: SqlValue[]) => alone<T | undefined>(text, values, 'get'),
      run: (text, ...values) => alone<number>(text, values, 'run'),
      transaction: (work) => this.#transaction(life, work),
      async *stream<T>(text: string, ...values: SqlValue[]) {
        yield* await alone<T[]>(text, values, 'all');
      },
      visible: () => life.wait(0.05),
      close: async () => {},
    };
  }

  /** One statement that stands alone: done in one event, answered in the next. */
  async #alone<T>(
    life: Life,
    text: string,
    values: readonly SqlValue[],
    kind: 'all' | 'get' | 'run',
  ): Promise<T> {
    await this.#arrive(life);
    if (this.#inside !== undefined) await this.#turn(life);
    let result: unknown;
    try {
      result = this.#prepared(text)[kind](values);
    } catch (error) {
      throw translated(error);
    } finally {
      this.#letIn();
    }
    if (kind === 'run') {
      await life.wait(this.#delay());
      if (this.#happens(this.weather.loseCommits)) throw new OutcomeUnknown('the connection was lost');
    }
    return result as T;
  }

  async #transaction<T>(life: Life, work: (tx: SqlExecutor) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      await this.#arrive(life);
      if (this.#inside !== undefined) await this.#turn(life);
      const transaction = new Transaction(life, () => this.#leave(), this.#engine, this.#prepared);
      this.#inside = transaction;
      const outcome = await this.#attempt(life, transaction, work);
      if (outcome.kind === 'done') return outcome.value;
      if (attempt > 3) throw new DatabaseUnavailable('the transaction did not get through');
    }
  }

  async #attempt<T>(
    life: Life,
    transaction: Transaction,
    work: (tx: SqlExecutor) => Promise<T>,
  ): Promise<{ kind: 'done'; value: T } | { kind: 'again' }> {
    let value: T;
    try {
      value = await work(transaction.executor(() => this.#delay()));
      if (transaction.failure !== undefined) throw transaction.failure;
    } catch (error) {
      transaction.rollback();
      throw error;
    }
    if (this.#happens(this.weather.repeatWork)) {
      transaction.rollback();
      return { kind: 'again' };
    }
    this.#world.moment();
    const isLost = this.#happens(this.weather.loseCommits);
    const isDone = !isLost || this.#random.below(2) === 0;
    // The commit is the database's own event: it happens even where the process dies meanwhile.
    await new Promise<void>((resolve) => {
      this.#world.schedule(this.#delay(), () => {
        if (isDone) transaction.commit();
        else transaction.rollback();
        resolve();
      });
    });
    if (!isLost && !transaction.isCommitted) throw new OutcomeUnknown('the connection was lost');
    await life.wait(this.#delay());
    if (isLost) throw new OutcomeUnknown('the answer to a commit was lost');
    return { kind: 'done', value };
  }

  /** The way to the database. */
  async #arrive(life: Life): Promise<void> {
    await life.wait(this.#delay());
    if (this.weather.down) throw new DatabaseUnavailable('the database is away');
  }

  /** Waits for whoever is inside. */
  #turn(life: Life): Promise<void> {
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const turn: Turn = {
        life,
        begin: (error) => {
          if (isSettled) return;
          isSettled = true;
          if (error === undefined) resolve();
          else life.after(0, () => reject(error));
        },
      };
      this.#waiting.push(turn);
      this.#world.schedule(timeoutMs, () => {
        const at = this.#waiting.indexOf(turn);
        if (at === -1) return;
        this.#waiting.splice(at, 1);
        turn.begin(new DatabaseUnavailable('the database is locked'));
      });
    });
  }

  #leave(): void {
    this.#inside = undefined;
    this.#letIn();
  }

  /** The next who waits; its code runs before anybody else's. */
  #letIn(): void {
    while (this.#inside === undefined) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      if (!next.life.isAlive) continue;
      this.#hand(next);
      return;
    }
  }

  /** Keeps the place until the event in which who waited goes on. */
  #hand(turn: Turn): void {
    const { life } = turn;
    const place = new Transaction(life, () => this.#leave());
    this.#inside = place;
    life.after(0, () => {
      if (this.#inside !== place) return turn.begin(new DatabaseUnavailable('the connection was lost'));
      place.giveWay();
      this.#inside = undefined;
      if (this.weather.down) {
        turn.begin(new DatabaseUnavailable('the database is away'));
        this.#letIn();
      } else turn.begin();
    });
  }

  readonly #prepared: Prepared = (text) => {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = new SqliteStatement(this.#engine, text);
      this.#statements.set(text, statement);
    }
    return statement;
  };

  #delay(): number {
    return 0.02 + this.weather.slowest * this.#random.fraction() ** 4;
  }

  #happens(chance: number): boolean {
    return chance > 0 && this.#random.fraction() < chance;
  }
}

/** Who is inside. When its process dies or sleeps too long, it is put out. */
class Transaction {
  failure: Error | undefined;
  isCommitted = false;
  readonly #life: Life;
  readonly #left: () => void;
  /** Undefined where only the place is kept. */
  readonly #engine: DatabaseSync | undefined;
  readonly #prepared: Prepared | undefined;
  #isOpen = true;
  #idle: (() => void) | undefined;
  readonly #abandon = () => this.abandon();

  constructor(life: Life, left: () => void, engine?: DatabaseSync, prepared?: Prepared) {
    this.#life = life;
    this.#left = left;
    this.#engine = engine;
    this.#prepared = prepared;
    prepared?.('BEGIN IMMEDIATE').run([]);
    life.endings.add(this.#abandon);
    this.#watch();
  }

  executor(delay: () => number): SqlExecutor {
    const ask = async <T>(
      text: string,
      values: readonly SqlValue[],
      kind: 'all' | 'get' | 'run',
    ): Promise<T> => {
      await this.#life.wait(delay());
      if (this.failure !== undefined) throw this.failure;
      if (!this.#isOpen) throw new DatabaseUnavailable('the connection was lost');
      this.#watch();
      try {
        return this.#prepared?.(text)[kind](values) as T;
      } catch (error) {
        const told = translated(error);
        this.failure = told instanceof Error ? told : new Error(String(told));
        throw this.failure;
      }
    };
    return {
      engine: 'sqlite',
      forUpdate: '',
      all: <T>(text: string, ...values: SqlValue[]) => ask<T[]>(text, values, 'all'),
      get: <T>(text: string, ...values: SqlValue[]) => ask<T | undefined>(text, values, 'get'),
      run: (text, ...values) => ask<number>(text, values, 'run'),
    };
  }

  commit(): void {
    if (!this.#isOpen) return;
    this.#prepared?.('COMMIT').run([]);
    this.isCommitted = true;
    this.#end();
  }

  rollback(): void {
    if (!this.#isOpen) return;
    if (this.#engine?.isTransaction === true) this.#prepared?.('ROLLBACK').run([]);
    this.#end();
  }

  abandon(): void {
    this.failure ??= new DatabaseUnavailable('the connection was lost');
    this.rollback();
  }

  /** The place was only kept. */
  giveWay(): void {
    this.#isOpen = false;
    this.#idle?.();
    this.#life.endings.delete(this.#abandon);
  }

  #end(): void {
    this.giveWay();
    this.#left();
  }

  #watch(): void {
    this.#idle?.();
    this.#idle = this.#life.world.schedule(timeoutMs, this.#abandon);
  }
}
