/** The operator's side: what the meter costs a cached read, and how fast the index leaves as Parquet. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { digest } from '../src/gateway/chain-index/testing.ts';
import { Exporter } from '../src/gateway/export/exporter.ts';
import { gatewayMigrations } from '../src/gateway/migrations.ts';
import { silentLog } from '../src/kernel/testing.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import { fillIndex, tagsPerRecord } from '../test/support/index-rows.ts';
import { preparePostgres } from '../test/support/postgres-server.ts';
import type { Bench, Measurement } from './bench.ts';
import { compareServers } from './load.ts';

const script = join(import.meta.dirname, 'gateway-data.server.ts');
const exportBar = 200_000;

export const benches: Bench[] = [
  { name: 'operator/meter', run: async () => [await meterCost()] },
  { name: 'operator/export', run: () => exportSpeed('sqlite') },
  { name: 'operator/export-postgres', run: () => exportSpeed('postgres') },
];

async function meterCost(): Promise<Measurement> {
  const path = `/raw/${digest('small').toString('base64url')}`;
  const { candidate, ratio } = await compareServers({
    candidate: { script, args: ['metered'] },
    yardstick: { script },
    load: { path, connections: 32, expect: [200] },
  });
  return {
    name: 'metered read of 1 KiB',
    value: candidate.requestsPerCpuSecond,
    unit: 'req/cpu-s',
    yardstick: 'the same read without the meter',
    ratio,
    bar: 0.9,
  };
}

const exportRows = { records: 400_000, heights: 4_000 };
/** What an export may add to the process's own memory, for each of its threads. */
const memoryPerThread = 192 * 1024 * 1024;

/** Two million rows of an index on disk, as the admin route exports them: reading, encoding, writing, syncing. */
async function exportSpeed(engine: 'sqlite' | 'postgres'): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-export-'));
  const server = engine === 'postgres' ? await preparePostgres() : undefined;
  const database = { databaseUrl: server?.url, dataDir: folder };
  try {
    const sql = await openDatabase({ ...database, name: 'gateway', migrations: gatewayMigrations });
    await fillIndex(sql, exportRows);
    await sql.close();
    const exporter = new Exporter({ ...database, log: silentLog });
    const memoryBefore = ownMemory();
    const cpuBefore = process.cpuUsage();
    const begin = performance.now();
    exporter.start({
      outputDir: join(folder, 'out'),
      startHeight: 0,
      endHeight: exportRows.heights - 1,
      maxFileRows: 0,
      heightPartitionSize: 500,
      skipL1Transactions: false,
      skipL1Tags: false,
      resume: false,
    });
    let most = 0;
    while (exporter.isRunning) {
      await sleep(50);
      most = Math.max(most, ownMemory());
    }
    const seconds = (performance.now() - begin) / 1000;
    const { user, system } = process.cpuUsage(cpuBefore);
    const { rows, error } = exporter.status;
    if (rows === undefined || error !== undefined) throw new Error(`the export failed: ${error ?? ''}`);
    const count = rows.blocks + rows.transactions + rows.tags;
    if (count < exportRows.records * (1 + tagsPerRecord)) throw new Error('rows are missing');
    const perCpuSecond = (count * 1_000_000) / (user + system);
    const threads = Math.min(4, availableParallelism());
    return [
      {
        name: `rows exported from ${engine}, by the clock`,
        value: count / seconds,
        unit: 'rows/s',
        yardstick: `${exportBar} rows/s`,
        ratio: count / seconds / exportBar,
        note: 'of a machine that does nothing else',
      },
      {
        name: `rows exported from ${engine}, per CPU second of this process`,
        value: perCpuSecond,
        unit: 'rows/cpu-s',
        yardstick: `${exportBar} rows/s on two cores`,
        ratio: (2 * perCpuSecond) / exportBar,
        bar: 1,
        note: 'threads start cold; partitions are shared out between them',
      },
      {
        name: `memory for ${count} rows from ${engine}`,
        value: (most - memoryBefore) / 1024 / 1024,
        unit: 'MiB',
        yardstick: `${memoryPerThread / 1024 / 1024} MiB for each of ${threads} threads`,
        ratio: (threads * memoryPerThread) / Math.max(1, most - memoryBefore),
        bar: 1,
      },
    ];
  } finally {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Without mapped files, which the system takes back when it needs the room. */
function ownMemory(): number {
  const kib = /^RssAnon:\s+([0-9]+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return Number(kib) * 1024;
}
