/**
 * A process for the crash tests: prunes everything in the SQLite index of a folder and packs the places, and says after
 * every step what it did.
 */
import { type Cursor, fromTheBeginning, pruneStableItems } from '../../src/gateway/chain-index/drop.ts';
import { migrations } from '../../src/gateway/chain-index/migrations.ts';
import { packNext } from '../../src/gateway/chain-index/places.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';

const [dataDir = ''] = process.argv.slice(2);
const sql = await openDatabase({ databaseUrl: undefined, dataDir, name: 'gateway', migrations });
const everything = { indexedBefore: 2_000, minHeight: 0, maxHeight: 100 };

let after: Cursor | undefined = fromTheBeginning;
while (after !== undefined) {
  const batch: Awaited<ReturnType<typeof pruneStableItems>> = await pruneStableItems(
    sql,
    everything,
    after,
    1,
  );
  after = batch.next;
  process.stdout.write(`pruned ${batch.pruned}\n`);
}
for (let packed = await packNext(sql); packed > 0; packed = await packNext(sql))
  process.stdout.write(`packed ${packed}\n`);
await sql.close();
