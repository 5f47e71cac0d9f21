/** The operator's side: what the meter costs a cached read, and how fast the index leaves as Parquet. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeExport } from '../src/gateway/export/write.ts';
import { SqlGatewayIndex } from '../src/gateway/index/sql-index.ts';
import { digest, entry, header, rawTags } from '../src/gateway/index/testing.ts';
import { gatewayMigrations } from '../src/gateway/migrations.ts';
import { openSqliteFile } from '../src/storage/sql/open.ts';
import type { Bench, Measurement } from './bench.ts';
import { compareServers } from './load.ts';

const script = join(import.meta.dirname, 'gateway-data.server.ts');
const exportBar = 200_000;

export const benches: Bench[] = [
  { name: 'operator/meter', run: async () => [await meterCost()] },
  { name: 'operator/export', run: async () => [await exportSpeed()] },
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

/** Rows of all tables; reading, sorting, encoding and writing included. */
async function exportSpeed(): Promise<Measurement> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-export-'));
  const sql = await openSqliteFile(join(folder, 'gateway.db'), gatewayMigrations);
  try {
    const { writer } = new SqlGatewayIndex(sql);
    const records = 30_000;
    const heights = 100;
    for (let at = 0; at < records; at += 128) {
      const batch = Array.from({ length: Math.min(128, records - at) }, (_, offset) => {
        const number = at + offset;
        const tags = rawTags({
          'Content-Type': number % 3 === 0 ? 'image/png' : 'application/json',
          'App-Name': `app ${number % 50}`,
          'App-Version': `1.${number % 9}`,
          'Unix-Time': String(1_700_000_000 + number),
        });
        const mined = { height: Math.floor((number * heights) / records), blockIndex: number % 1_000 };
        return entry(header(`record ${number}`, { dataSize: number, tags }), mined);
      });
      const prepared = await writer.prepare(batch);
      await sql.transaction((tx) => writer.put(tx, prepared));
    }
    const run = (runId: string) =>
      writeExport(
        sql,
        {
          outputDir: join(folder, 'out'),
          startHeight: 0,
          endHeight: heights,
          maxFileRows: 0,
          heightPartitionSize: 1_000,
          skipL1Transactions: false,
          skipL1Tags: false,
          resume: false,
          runId,
        },
        () => {},
      );
    // An export has millions of rows: the compiler's first seconds are not what it costs.
    for (const warm of ['one', 'two']) await run(warm);
    const before = process.cpuUsage();
    const { rows } = await run('measured');
    const { user, system } = process.cpuUsage(before);
    const rate = ((rows.transactions + rows.tags) * 1_000_000) / (user + system);
    return {
      name: 'rows exported',
      value: rate,
      unit: 'rows/cpu-s',
      yardstick: `${exportBar} rows/s on two cores`,
      ratio: (2 * rate) / exportBar,
      bar: 1,
      note: 'per thread; partitions are shared out between two',
    };
  } finally {
    await sql.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
