/** What payments of this ledger are marked with at the provider: made once, and in every copy of the ledger. */
import { randomUUID } from 'node:crypto';
import type { Sql } from '../../storage/sql/sql.ts';
import { readText } from '../../storage/sql/typed-rows.ts';

const read = async (sql: Sql): Promise<string | undefined> => {
  const row = await sql.get('SELECT id FROM card_ledger WHERE only_row = 1');
  return row && readText(row.id);
};

export async function ledgerIdOf(sql: Sql): Promise<string> {
  const known = await read(sql);
  if (known !== undefined) return known;
  await sql.run(
    'INSERT INTO card_ledger (only_row, id) VALUES (1, ?) ON CONFLICT (only_row) DO NOTHING',
    randomUUID(),
  );
  const made = await read(sql);
  if (made === undefined) throw new Error('the id of the ledger was not kept');
  return made;
}
