/**
 * A process for the crash tests: writes with 16 writers at once, two rows to a transaction, and says on
 * standard output which transactions were acknowledged. With a count it ends after so many; else never.
 */
import { openSqlite } from '../../src/storage/sql/sqlite/open.ts';

const [path = '', count = 'Infinity'] = process.argv.slice(2);
const sql = openSqlite(
  path,
  [{ id: 'crash-001', up: 'CREATE TABLE rows (process BIGINT, writer BIGINT, turn BIGINT, half BIGINT);' }],
  { checkpointFrames: 200 },
);
const insert = 'INSERT INTO rows VALUES (?, ?, ?, ?)';

await Promise.all(
  Array.from({ length: 16 }, async (_, writer) => {
    for (let turn = 0; turn < Number(count); turn += 1) {
      await sql.transaction(async (tx) => {
        await tx.run(insert, process.pid, writer, turn, 1);
        await tx.run(insert, process.pid, writer, turn, 2);
      });
      process.stdout.write(`${process.pid} ${writer} ${turn}\n`);
    }
  }),
);
await sql.close();
