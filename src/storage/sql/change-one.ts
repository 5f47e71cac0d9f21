/** Updates that must find their row. */
import type { SqlExecutor, SqlValue } from './sql.ts';

/** Changes exactly one row; any other number is a broken invariant, and fails the transaction. */
export async function changeOne(tx: SqlExecutor, statement: string, ...values: SqlValue[]): Promise<void> {
  const changed = await tx.run(statement, ...values);
  if (changed !== 1)
    throw new Error(`one row was to be changed, and ${changed} were: ${firstLine(statement)}`);
}

const firstLine = (statement: string): string => statement.trim().split('\n', 1)[0] ?? '';
