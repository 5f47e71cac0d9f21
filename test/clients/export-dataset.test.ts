/**
 * DuckDB reads a dataset while exports write into it, are cancelled and are killed, on a growing chain: it counts each
 * id once at any moment. On both engines.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { type ExportBench, openExportBench } from '../support/export-dataset.ts';
import { type PostgresServer, preparePostgres } from '../support/postgres-server.ts';

const heights = 120;
const records = 2_400;
const perHeight = records / heights;

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`DuckDB and a dataset of exports, from ${engine}`, () => {
    let server: PostgresServer | undefined;
    let bench: ExportBench;
    let duck: DuckDBConnection;
    before(async () => {
      server = engine === 'postgres' ? await preparePostgres() : undefined;
      bench = await openExportBench(server?.url, { records, heights });
      duck = await (await DuckDBInstance.create(':memory:')).connect();
    });
    after(async () => {
      duck.closeSync();
      await bench.close();
      await server?.stop();
    });

    /** Rows, ids and the greatest height, below a folder. */
    async function count(folder: string): Promise<number[]> {
      const table = `read_parquet('${folder}/transactions/**/*.parquet', hive_partitioning = false)`;
      const answer = await duck.runAndReadAll(
        `SELECT count(*)::INT, count(DISTINCT id)::INT, max(height)::INT FROM ${table}`,
      );
      return (answer.getRowsJson()[0] ?? []).map(Number);
    }
    const versionFolder = () =>
      join(
        bench.folder,
        String(JSON.parse(readFileSync(join(bench.folder, 'manifest.json'), 'utf8')).folder),
      );

    it('counts each id once after ten runs, and at every moment between', async () => {
      const ends = [14, 25, 25, 38, 44, 61, 77, 90, 104, heights - 1];
      let isOver = false;
      let counted = 0;
      /** What is read is a whole version, by its own name always, and by the name of the dataset unless it moved. */
      async function readAlways(): Promise<void> {
        while (!isOver) {
          for (const folder of [versionFolder(), bench.folder]) {
            try {
              const [rows = 0, ids, highest = 0] = await count(folder);
              assert.equal(rows, ids, 'no id twice');
              assert.equal(rows, (highest + 1) * perHeight, 'and none missing');
              counted += 1;
            } catch (error) {
              // A file that was listed and is gone is said so, and never passed over. A version is there while it is
              // the current one, and until the export after the next begins.
              if (folder === versionFolder() || !/No such file|No files found/.test(String(error)))
                throw error;
            }
          }
        }
      }
      await bench.run({ endHeight: 9 });
      const reading = readAlways().finally(() => {
        isOver = true;
      });
      for (const [run, endHeight] of ends.entries()) {
        const options = { endHeight, resume: run % 2 === 1, maxFileRows: run % 3 === 0 ? 0 : 70 };
        if (run === 4) await bench.runAndKill(options);
        if (run === 6) {
          const { ended } = bench.exporter.start(bench.request(options));
          await bench.exporter.cancel();
          await ended;
        }
        const { status, error } = await bench.run(options);
        assert.deepEqual([status, error], ['completed', undefined]);
        assert.deepEqual(await count(bench.folder), [
          (endHeight + 1) * perHeight,
          (endHeight + 1) * perHeight,
          endHeight,
        ]);
      }
      isOver = true;
      await reading;
      assert.ok(counted > 0);
    });

    it('reads the manifest, which agrees with the files', async () => {
      const answer = await duck.runAndReadAll(
        `SELECT complete, len(partitions)::INT, rows.transactions::INT FROM read_json('${bench.folder}/manifest.json')`,
      );
      assert.deepEqual(answer.getRowsJson(), [[true, heights / 10, records]]);
    });
  });
}
