/** What it costs to be answered by a standby or through PgBouncer, in CPU time of the process that asks. */
import { openPostgres, type PostgresOptions } from '../src/storage/sql/postgres/open.ts';
import { inReadScope } from '../src/storage/sql/read-scope.ts';
import type { Sql } from '../src/storage/sql/sql.ts';
import { eventually } from '../test/support/eventually.ts';
import { pgbouncerProgram, startPgbouncer } from '../test/support/servers/pgbouncer.ts';
import { postgresPrograms, startPostgresCluster } from '../test/support/servers/postgres-cluster.ts';
import { skipWithout } from '../test/support/servers/programs.ts';
import type { Bench, Measurement } from './bench.ts';

const rows = 1_000;
const reads = 20_000;
const clients = 8;
const writes = 200;

/** Reads by key per second of this process's CPU time. */
async function readsPerCpu(sql: Sql, scope: <T>(work: () => T) => T): Promise<number> {
  const used = process.cpuUsage();
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let count = 0; count < reads / clients; count += 1) {
        await scope(() => sql.get('SELECT value FROM rows WHERE n = ?', (client + count) % rows));
      }
    }),
  );
  const { user, system } = process.cpuUsage(used);
  return (reads * 1_000_000) / (user + system);
}

async function measure(): Promise<Measurement[]> {
  const cluster = await startPostgresCluster({ standbys: 1 });
  const pgbouncer = await startPgbouncer({ target: cluster.primary });
  const schema = {
    schema: 'bench',
    migrations: [{ id: 'rows', up: 'CREATE TABLE rows (n BIGINT PRIMARY KEY, value BIGINT NOT NULL);' }],
  };
  const open = (options: Partial<PostgresOptions>) =>
    openPostgres({ url: cluster.primary.url, ...schema, ...options });
  const opened: Sql[] = [];
  try {
    const plain = await open({});
    const reading = await open({ readUrls: [cluster.standbys[0]!.url] });
    const pooled = await open({ url: pgbouncer.url });
    opened.push(plain, reading, pooled);
    await plain.run('INSERT INTO rows SELECT n, n FROM generate_series(0, ?) AS n', rows - 1);
    await reading.visible();
    const isStandby = 'SELECT pg_is_in_recovery() AS yes';
    await eventually('the standby answers', async () => {
      const row = await inReadScope(() => reading.get<{ yes: number }>(isStandby));
      return row?.yes === 1;
    });
    const asIs = <T>(work: () => T): T => work();
    await readsPerCpu(plain, asIs);
    const alone = await readsPerCpu(plain, asIs);
    const figure = (name: string, value: number): Measurement => ({
      ...{ name, value, unit: 'reads/CPU s', ratio: value / alone },
      yardstick: `from the primary: ${Math.round(alone)} reads/CPU s`,
    });
    const byStandby = figure('read by key, from a standby', await readsPerCpu(reading, inReadScope));
    const byPooler = figure('read by key, through PgBouncer', await readsPerCpu(pooled, asIs));
    const write = (sql: Sql, n: number) => sql.run('UPDATE rows SET value = value + 1 WHERE n = ?', n % rows);
    const time = async (work: (n: number) => Promise<unknown>) => {
      const began = performance.now();
      for (let n = 0; n < writes; n += 1) await work(n);
      return (performance.now() - began) / writes;
    };
    const written = await time((n) => write(reading, n));
    const seen = await time(async (n) => {
      await write(reading, n);
      await reading.visible();
    });
    const yardstick = `the write alone: ${written.toFixed(2)} ms`;
    return [
      byStandby,
      byPooler,
      {
        name: 'write and wait until readers see it',
        value: seen,
        unit: 'ms',
        yardstick,
        ratio: seen / written,
      },
    ];
  } finally {
    for (const sql of opened) await sql.close();
    await pgbouncer.stop();
    await cluster.stop();
  }
}

export const benches: Bench[] = [
  {
    name: 'standbys',
    async run() {
      const skipped = skipWithout({ ...postgresPrograms, ...pgbouncerProgram });
      if (skipped === undefined) return measure();
      console.log(`standbys: ${skipped}`);
      return [];
    },
  },
];
