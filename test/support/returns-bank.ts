/** A bank that remembers what arrived over kills of whoever sends to it: one row per transfer, by its reference. */
import { randomUUID } from 'node:crypto';
import type { WayBack } from '../../src/payments/returns/returns.ts';
import type { WaysBack } from '../../src/payments/returns/ways/ways.ts';
import { openSqliteFile } from '../../src/storage/sql/open.ts';

const migrations = [
  {
    id: 'bank',
    up: 'CREATE TABLE transfers (reference TEXT PRIMARY KEY, return_id TEXT NOT NULL, amount AMOUNT NOT NULL)',
  },
];

export async function durableBank(path: string) {
  const sql = await openSqliteFile(path, migrations);
  const way: WayBack = {
    async prepare({ id, amount }) {
      return { reference: randomUUID(), wire: `${id} ${amount}`, validUntil: 0 };
    },
    async deliver({ reference = '', wire = '' }) {
      const [id = '', amount = '0'] = wire.split(' ');
      await sql.run(
        'INSERT INTO transfers (reference, return_id, amount) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
        reference,
        id,
        amount,
      );
      return { state: 'confirmed' };
    },
  };
  const ways: WaysBack = { wayOf: () => way, readerOf: () => undefined, close: async () => {} };
  return {
    ways,
    close: () => sql.close(),
    transfers: () =>
      sql.all<{ return_id: string; amount: string }>('SELECT return_id, amount FROM transfers'),
  };
}
