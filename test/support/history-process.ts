/**
 * A process for the crash tests: moves everything that may be moved to the history, and says what it is about to do and
 * what it did.
 */
import { migrations } from '../../src/gateway/chain-index/migrations.ts';
import { ClickHouse } from '../../src/gateway/history/clickhouse.ts';
import { Mover } from '../../src/gateway/history/mover.ts';
import { createLogger } from '../../src/kernel/log.ts';
import { Lease } from '../../src/storage/sql/lease.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';

const [url = '', dataDir = '', name = '', databaseUrl = '', now = ''] = process.argv.slice(2);

class TellingClickHouse extends ClickHouse {
  override async insert(...given: Parameters<ClickHouse['insert']>): Promise<void> {
    process.stdout.write(`inserting into ${given[0]}\n`);
    await super.insert(...given);
    process.stdout.write(`inserted into ${given[0]}\n`);
  }

  override async selectSlowly(statement: string): Promise<Buffer> {
    const rows = await super.selectSlowly(statement);
    process.stdout.write('read\n');
    return rows;
  }
}

const sql = await openDatabase({ databaseUrl: databaseUrl || undefined, dataDir, name, migrations });
const server = new TellingClickHouse({ url, password: undefined, timeoutMs: 5_000 });
const mover = new Mover({
  ...{ sql, server, afterSeconds: 0, batchItems: 40, pruneItems: 6, now: () => Number(now) },
  placement: { cluster: undefined, replicaPath: undefined },
  // Of a process that was killed a moment ago.
  lease: new Lease(sql, { table: 'leases', name: `history ${process.pid}`, leaseMs: 30_000 }),
  log: createLogger({ name: 'test', level: 'silent', format: 'json' }),
  onMoved: (items) => void process.stdout.write(`moved ${items}\n`),
});
while (await mover.step());
await server.close();
await sql.close();
process.stdout.write('done\n');
