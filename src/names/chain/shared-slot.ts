/**
 * By which slot everything is there that was done for somebody, shared by all processes. What stands before a purchase tells it
 * from another's, and a record is written as a whole: read from a node that is a second behind, both would be those before the
 * last change.
 */
import type { NameChain } from '../../registry/chain.ts';
import type { Sql } from '../../storage/sql/sql.ts';

interface SharedSlot {
  readonly sql: Sql;
  readonly chain: NameChain;
}

/** Before it is stored that something is done. Fails with `ChainUnavailable` where nobody says which chain this is. */
export async function shareSlot({ sql, chain }: SharedSlot): Promise<void> {
  await sql.run(
    `INSERT INTO arns_slots (chain, slot) VALUES (?, ?)
      ON CONFLICT (chain) DO UPDATE SET slot = excluded.slot WHERE arns_slots.slot < excluded.slot`,
    await chain.genesisHash(),
    chain.reached(),
  );
}

/** Before anything is planned on what was done, and after it is known that nothing is on its way. */
export async function learnSlot({ sql, chain }: SharedSlot): Promise<void> {
  const row = await sql.get<{ slot: number }>(
    'SELECT slot FROM arns_slots WHERE chain = ?',
    await chain.genesisHash(),
  );
  if (row !== undefined) chain.reach(row.slot);
}
