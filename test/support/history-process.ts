/**
 * A process for the crash tests: moves everything that may be moved to the history, and kills itself after so many steps,
 * at once or some milliseconds later. Who kills it from outside comes too late on a busy machine.
 */
import { migrations } from '../../src/gateway/chain-index/migrations.ts';
import { ClickHouse } from '../../src/gateway/history/clickhouse.ts';
import { Mover } from '../../src/gateway/history/mover.ts';
import { createLogger } from '../../src/kernel/log.ts';
import { Lease } from '../../src/storage/sql/lease.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';

const [url = '', dataDir = '', name = '', databaseUrl = '', now = '', killedAt = ''] = process.argv.slice(2);
let steps = 0;

/** Something is about to be done, or was done. */
function step(): void {
  steps += 1;
  if (steps < Number(killedAt)) return;
  const kill = () => process.kill(process.pid, 'SIGKILL');
  if (steps % 3 === 0) kill();
  else setTimeout(kill, steps % 3);
}

class SteppingClickHouse extends ClickHouse {
  override async insert(...given: Parameters<ClickHouse['insert']>): Promise<void> {
    step();
    await super.insert(...given);
    step();
  }

  override async selectSlowly(statement: string): Promise<Buffer> {
    const rows = await super.selectSlowly(statement);
    step();
    return rows;
  }
}

const sql = await openDatabase({ databaseUrl: databaseUrl || undefined, dataDir, name, migrations });
const server = new SteppingClickHouse({ url, password: undefined, timeoutMs: 5_000 });
const mover = new Mover({
  ...{ sql, server, afterSeconds: 0, batchItems: 40, pruneItems: 6, now: () => Number(now) },
  placement: { cluster: undefined, replicaPath: undefined },
  // Of a process that was killed a moment ago.
  lease: new Lease(sql, { table: 'leases', name: `history ${process.pid}`, leaseMs: 30_000 }),
  log: createLogger({ name: 'test', level: 'silent', format: 'json' }),
  onMoved: step,
});
while (await mover.step());
await server.close();
await sql.close();
