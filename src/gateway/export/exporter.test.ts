import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { eventually } from '../../../test/support/eventually.ts';
import { fillIndex } from '../../../test/support/index-rows.ts';
import { silentLog } from '../../kernel/testing.ts';
import { openDatabase } from '../../storage/sql/open.ts';
import { gatewayMigrations } from '../migrations.ts';
import { Exporter } from './exporter.ts';

const heights = 40;
/** So many that no machine comes to the end of them before it is told to stop. */
const partitions = 20_000;

test('an export that is stopped ends its threads without force, and leaves nothing unfinished', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnpike-export-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const sql = await openDatabase({
    databaseUrl: undefined,
    dataDir,
    name: 'gateway',
    migrations: gatewayMigrations,
  });
  await fillIndex(sql, { records: 4_000, heights });
  await sql.close();

  // 0: by itself. Ended by force in the midst of compressing, a thread takes the process along.
  const exits: number[] = [];
  subscribe('worker_threads', (message) => {
    const { worker } = message as { worker: Worker };
    worker.on('exit', (code) => exits.push(code));
  });
  const outputDir = join(dataDir, 'out');
  const exporter = new Exporter({ databaseUrl: undefined, dataDir, log: silentLog });
  const { ended } = exporter.start({
    ...{ outputDir, startHeight: 0, endHeight: partitions - 1, heightPartitionSize: 1, maxFileRows: 10 },
    ...{ skipL1Transactions: false, skipL1Tags: false, resume: false },
  });
  await eventually('files are written', async () => (exporter.status.files ?? 0) > 0);
  await exporter.stop();
  await ended;

  assert.deepEqual([exporter.status.status, exporter.status.error], ['errored', 'the gateway is stopping']);
  assert.ok(exits.length > 0 && exits.every((code) => code === 0), `exit codes ${exits}`);
  const files = readdirSync(outputDir, { recursive: true, encoding: 'utf8' });
  assert.deepEqual(
    files.filter((name) => name.endsWith('.part')),
    [],
  );
  assert.equal(exporter.isRunning, false);
});
