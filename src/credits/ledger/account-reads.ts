/**
 * Accounts with their approvals, read together: what is asked for in one turn of the event loop is one statement, made
 * when the turn is over. So many who ask at once cost little more than one, most of all where the database is away.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Row, SqlReader } from '../../storage/sql/sql.ts';
import { readText } from '../../storage/sql/typed-rows.ts';
import { type AccountAndApprovals, accountsAndApprovals, readAccountAndApprovals } from './approvals.ts';

/** Addresses that a statement may take; the places of those that are fewer are filled up. */
const sizes = [1, 4, 16, 64] as const;
const statements = new Map(
  sizes.map((size) => [size, accountsAndApprovals(Array(size).fill('?').join(', '))]),
);

interface Turn {
  readonly addresses: Set<string>;
  /** By address. */
  readonly rows: Promise<ReadonlyMap<string, readonly Row[]>>;
}

export class AccountReads {
  readonly #sql: SqlReader;
  #turn: Turn | undefined;

  constructor(sql: SqlReader) {
    this.#sql = sql;
  }

  async read(address: string): Promise<AccountAndApprovals> {
    this.#turn ??= this.#begin();
    const { addresses, rows } = this.#turn;
    addresses.add(address);
    return readAccountAndApprovals((await rows).get(address) ?? []);
  }

  #begin(): Turn {
    const addresses = new Set<string>();
    const rows = nextTurn().then(() => {
      this.#turn = undefined;
      return this.#readAll([...addresses]);
    });
    return { addresses, rows };
  }

  async #readAll(addresses: readonly string[]): Promise<Map<string, Row[]>> {
    const byAddress = new Map<string, Row[]>(addresses.map((address) => [address, []]));
    const largest = sizes[sizes.length - 1] ?? 1;
    for (let from = 0; from < addresses.length; from += largest) {
      const some = addresses.slice(from, from + largest);
      const size = sizes.find((places) => places >= some.length) ?? largest;
      const values = Array.from({ length: size }, (_, at) => some[at] ?? some[0] ?? '');
      const statement = statements.get(size) ?? '';
      for (const row of await this.#sql.all(statement, ...values, ...values, ...values, ...values)) {
        byAddress.get(readText(row.asked))?.push(row);
      }
    }
    return byAddress;
  }
}
