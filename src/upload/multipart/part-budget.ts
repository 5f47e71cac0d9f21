/**
 * How many bytes the unfinished uploads of one client network may hold together. Parts cost nothing until they are
 * finalized, so without it anybody could fill the disk. What was paid for when the upload began does not count.
 *
 * What is stored is counted by the sessions' own sums, under a lock, and so exactly, whichever process took a part in;
 * what is still arriving is counted by the process that reads it, to refuse it before it is read.
 */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { uploadErrors } from '../errors.ts';
import type { SessionRow } from './sessions.ts';

/** The sessions that hold parts nobody has paid for yet. Values: the network. */
const holding = `FROM upload_sessions
  WHERE client_address = ? AND state IN ('open', 'finalizing', 'UNDERFUNDED') AND payment IS NULL`;

type Session = Pick<SessionRow, 'client_address' | 'payment'>;

export class PartBudget {
  readonly #maxBytes: number;
  readonly #arriving = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes room for a part that is about to be read, in place of one of `replacedBytes`; answers how to give it back.
   * Throws 429.
   */
  async reserve(
    sql: SqlExecutor,
    session: Session,
    bytes: number,
    replacedBytes: number,
  ): Promise<() => void> {
    if (session.payment !== null) return () => {};
    const network = session.client_address;
    const held = await heldBytes(sql, network);
    const arriving = this.#arriving.get(network) ?? 0;
    this.#check(held + arriving + bytes - replacedBytes);
    this.#arriving.set(network, arriving + bytes);
    let isReserved = true;
    return () => {
      if (isReserved) this.#release(network, bytes);
      isReserved = false;
    };
  }

  /** Within a transaction, before it locks a session: nobody else adds to what this network holds until it ends. */
  async lock(tx: SqlExecutor, session: Session): Promise<void> {
    if (session.payment !== null || tx.forUpdate === '') return;
    await tx.all(`SELECT id ${holding} ORDER BY id ${tx.forUpdate}`, session.client_address);
  }

  /** After `lock`, whether a part may be added in place of one of `replacedBytes`. Throws 429. */
  async check(tx: SqlExecutor, session: Session, bytes: number, replacedBytes: number): Promise<void> {
    if (session.payment !== null) return;
    this.#check((await heldBytes(tx, session.client_address)) + bytes - replacedBytes);
  }

  #check(bytes: number): void {
    if (bytes > this.#maxBytes) throw uploadErrors.tooManyPartBytes(this.#maxBytes);
  }

  #release(network: string, bytes: number): void {
    const left = (this.#arriving.get(network) ?? 0) - bytes;
    if (left > 0) this.#arriving.set(network, left);
    else this.#arriving.delete(network);
  }
}

async function heldBytes(sql: SqlExecutor, network: string): Promise<number> {
  const sum = await sql.get<{ bytes: number }>(
    `SELECT CAST(COALESCE(SUM(part_bytes), 0) AS BIGINT) AS bytes ${holding}`,
    network,
  );
  return sum?.bytes ?? 0;
}
