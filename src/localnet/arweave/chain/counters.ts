/** Named numbers that only grow: how much was minted, how many blocks were ever made. */
import type { SqlExecutor } from '../../../storage/sql/sql.ts';

type CounterName = 'minted' | 'blocks';

async function readCounter(sql: SqlExecutor, name: CounterName): Promise<bigint> {
  const row = await sql.get<{ value: string }>('SELECT value FROM counters WHERE name = ?', name);
  return BigInt(row?.value ?? '0');
}

/** The value after adding. */
export async function addToCounter(tx: SqlExecutor, name: CounterName, amount: bigint): Promise<bigint> {
  const value = (await readCounter(tx, name)) + amount;
  await tx.run(
    'INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    name,
    value,
  );
  return value;
}
