/**
 * An export onto a disk that is really full: it fails with a reason, leaves nothing that could be taken for whole, and
 * is finished once there is room. DuckDB reads what is there. On both engines.
 *
 * Where the tests may not mount, the system's limit on the size of a file is what fails a write.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import type { ExportStatus } from '../../src/gateway/export/exporter.ts';
import { gatewayMigrations } from '../../src/gateway/migrations.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { fillIndex, tagsPerRecord } from '../support/index-rows.ts';
import { type PostgresServer, preparePostgres } from '../support/postgres-server.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';

const records = 12_000;
const heights = 40;
const script = join(import.meta.dirname, '../support/export-process.ts');

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`an export onto a full disk, from ${engine}`, () => {
    let server: PostgresServer | undefined;
    let disk: SmallDisk | undefined;
    let dataDir: string;
    let folder: string;
    before(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'turnpike-full-disk-'));
      server = engine === 'postgres' ? await preparePostgres() : undefined;
      disk = mountSmallDisk();
      folder = join(disk?.folder ?? dataDir, 'out');
      const sql = await openDatabase({
        databaseUrl: server?.url,
        dataDir,
        name: 'gateway',
        migrations: gatewayMigrations,
      });
      await fillIndex(sql, { records, heights });
      await sql.close();
    });
    after(async () => {
      disk?.remove();
      rmSync(dataDir, { recursive: true, force: true });
      await server?.stop();
    });

    function run(resume: boolean, fileLimitKiB?: number): Promise<ExportStatus> {
      const request = {
        ...{ outputDir: folder, startHeight: 0, endHeight: heights - 1, maxFileRows: 5_000, resume },
        ...{ heightPartitionSize: 8, skipL1Transactions: false, skipL1Tags: false },
      };
      const command = [
        process.execPath,
        script,
        JSON.stringify({ databaseUrl: server?.url, dataDir, request }),
      ];
      // Units of 512 bytes, as POSIX has it.
      const limit = fileLimitKiB === undefined ? 'unlimited' : String(fileLimitKiB * 2);
      return new Promise((resolve, reject) => {
        const child = spawn('sh', ['-c', `ulimit -f ${limit}; exec "$@"`, 'sh', ...command], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        let out = '';
        child.stdout.on('data', (piece) => {
          out += String(piece);
        });
        child.on('error', reject);
        child.on('close', () => resolve(JSON.parse(out)));
      });
    }

    const filesIn = (suffix: string) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(suffix));

    async function ask(statement: string): Promise<unknown[]> {
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      const found = (await connection.runAndReadAll(statement)).getRowsJson();
      connection.closeSync();
      return found;
    }
    const table = (name: string) =>
      `read_parquet('${folder}/${name}/**/*.parquet', hive_partitioning = false)`;

    it('fails with its reason, leaves only whole files, and goes on when there is room', async (t) => {
      let makeRoom = () => {};
      if (disk === undefined)
        t.diagnostic('mounting is not allowed: a limit on file sizes stands in for the disk');
      else makeRoom = fillDisk(disk.folder);
      const failed = await run(false, disk === undefined ? 64 : undefined);
      assert.equal(failed.status, 'errored');
      assert.match(
        failed.error ?? '',
        disk === undefined ? /^A file of the export grew beyond/ : /^The disk of the export folder is full: /,
      );
      assert.match(failed.error ?? '', disk === undefined ? /EFBIG/ : /ENOSPC/);
      assert.deepEqual(
        [failed.startHeight, failed.endHeight, failed.outputDir, typeof failed.endTimestamp],
        [0, heights - 1, folder, 'number'],
      );
      assert.deepEqual(filesIn('.part'), [], 'nothing unfinished is left');
      const done = filesIn('.parquet').filter((name) => name.includes('/transactions/data/'));
      assert.ok(done.length < 5, 'it did not come to its end');
      if (done.length > 0) {
        // Whatever has its final name can be read to its end.
        const [row] = await ask(
          `SELECT count(*)::INT, count(DISTINCT id)::INT FROM ${table('transactions')}`,
        );
        assert.ok(Array.isArray(row) && row[0] === row[1] && Number(row[0]) % 2_400 === 0, String(row));
      }

      makeRoom();
      const whole = await run(true);
      assert.deepEqual([whole.status, whole.error], ['completed', undefined]);
      assert.equal(whole.partitionsDone, 5);
      assert.deepEqual(
        await ask(`SELECT count(*)::INT, count(DISTINCT height)::INT FROM ${table('blocks')}`),
        [[heights, heights]],
      );
      assert.deepEqual(
        await ask(
          `SELECT count(*)::INT, count(DISTINCT id)::INT, sum(data_size)::BIGINT FROM ${table('transactions')}`,
        ),
        [[records, records, String((records * (records - 1)) / 2)]],
      );
      assert.deepEqual(
        await ask(
          `SELECT count(*)::INT, count(DISTINCT decode(tag_value))::INT FROM ${table('tags')}
           WHERE height >= 8 AND height < 16 AND decode(tag_name) = 'Unix-Time'`,
        ),
        [[records / 5, records / 5]],
      );
      assert.deepEqual(await ask(`SELECT count(*)::INT FROM ${table('tags')}`), [[records * tagsPerRecord]]);
    });

    it('writes a partition once, however often it is exported', async () => {
      folder = join(dataDir, 'twice');
      assert.equal((await run(false)).status, 'completed');
      const again = await run(false);
      assert.equal(again.status, 'completed');
      assert.deepEqual(await ask(`SELECT count(*)::INT FROM ${table('transactions')}`), [[records]]);
      const nothing = await run(true);
      assert.deepEqual(
        [nothing.status, nothing.rows],
        ['completed', { blocks: 0, transactions: 0, tags: 0 }],
      );
    });
  });
}

/** Leaves room for a few files; the answer makes room for all. */
function fillDisk(folder: string): () => void {
  const ballast = join(folder, 'ballast');
  const { bavail, bsize } = statfsSync(folder);
  const fd = openSync(ballast, 'w');
  writeSync(fd, Buffer.alloc(bavail * bsize - 600 * 1024, 1));
  closeSync(fd);
  return () => rmSync(ballast);
}
