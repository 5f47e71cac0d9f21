/**
 * Which world the ledger's credits are of. A data folder says it too, before anything is opened; processes on other
 * machines share a ledger and no folder.
 */
import type { WorldName } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Migration, Sql } from '../../storage/sql/sql.ts';

export const worldMigrations: readonly Migration[] = [
  {
    id: 'world-001-ledger',
    up: `
CREATE TABLE ledger_world (
  only_row BIGINT PRIMARY KEY,
  world TEXT NOT NULL
);
`,
  },
];

/** The first start decides, also for a ledger that an earlier release made; another world is refused. */
export async function claimLedger(sql: Sql, world: WorldName): Promise<void> {
  const read = () => sql.get<{ world: string }>('SELECT world FROM ledger_world WHERE only_row = 1');
  let row = await read();
  if (row === undefined) {
    await sql.run(
      'INSERT INTO ledger_world (only_row, world) VALUES (1, ?) ON CONFLICT (only_row) DO NOTHING',
      world,
    );
    row = await read();
  }
  if (row?.world === world) return;
  throw new StartupError(
    `the ledger holds credits of WORLD=${row?.world}: set DATABASE_URL or DATA_DIR to another, or WORLD to ${row?.world}`,
  );
}
