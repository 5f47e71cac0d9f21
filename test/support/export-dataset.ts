/** An index with a growing chain, exports of it in this process and in ones that are killed, and what readers find. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { Exporter, type ExportStatus } from '../../src/gateway/export/exporter.ts';
import type { DatasetManifest } from '../../src/gateway/export/manifest.ts';
import type { TableName } from '../../src/gateway/export/tables.ts';
import type { ExportRequest } from '../../src/gateway/export/write.ts';
import { gatewayMigrations } from '../../src/gateway/migrations.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import type { Sql } from '../../src/storage/sql/sql.ts';
import { eventually } from './eventually.ts';
import { type Filling, fillIndex } from './index-rows.ts';

const script = join(import.meta.dirname, 'export-process.ts');

export interface ExportBench {
  readonly sql: Sql;
  readonly exporter: Exporter;
  /** Of the dataset, where a request names no other. */
  readonly folder: string;
  request(changes?: Partial<ExportRequest>): ExportRequest;
  run(changes?: Partial<ExportRequest>): Promise<ExportStatus>;
  /** Runs it in a process of its own and kills that as soon as it has finished a partition, or is done. */
  runAndKill(changes?: Partial<ExportRequest>): Promise<void>;
  manifest(): DatasetManifest;
  close(): Promise<void>;
}

export async function openExportBench(
  databaseUrl: string | undefined,
  filling: Filling,
): Promise<ExportBench> {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-dataset-'));
  const sql = await openDatabase({ databaseUrl, dataDir, name: 'gateway', migrations: gatewayMigrations });
  await fillIndex(sql, filling);
  const folder = join(dataDir, 'out');
  // One thread: it costs more to start them than to write these few rows.
  const exporter = new Exporter({ databaseUrl, dataDir, log: silentLog, maxThreads: 1 });
  const request = (changes: Partial<ExportRequest> = {}): ExportRequest => ({
    ...{ outputDir: folder, startHeight: 0, endHeight: filling.heights - 1, maxFileRows: 0, resume: false },
    ...{ heightPartitionSize: 10, skipL1Transactions: false, skipL1Tags: false, ...changes },
  });
  return {
    ...{ sql, exporter, folder, request },
    async run(changes) {
      await exporter.start(request(changes)).ended;
      return exporter.status;
    },
    async runAndKill(changes) {
      const child = spawn(
        process.execPath,
        [script, JSON.stringify({ databaseUrl, dataDir, request: request(changes) })],
        { stdio: 'ignore' },
      );
      const gone = new Promise((resolve) => child.once('exit', resolve));
      await eventually('a partition is finished', () => isOver(child) || hasFinished(folder));
      child.kill('SIGKILL');
      await gone;
    },
    manifest: () => JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')),
    async close() {
      await exporter.stop();
      await sql.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

const isOver = ({ exitCode }: ChildProcess) => exitCode !== null;

function hasFinished(folder: string): boolean {
  const versions = join(folder, '.versions');
  if (!existsSync(versions)) return false;
  return readdirSync(versions)
    .filter((name) => name.endsWith('.writing'))
    .some((name) => {
      const entries = join(versions, name, 'partitions');
      return existsSync(entries) && readdirSync(entries).some((entry) => entry.endsWith('.json'));
    });
}

/** Every row that a reader finds below the folder of a table, as the guide reads it. */
export async function readRows(folder: string, table: TableName): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (const path of filesOf(folder, table)) {
    const bytes = readFileSync(path);
    const file = new ArrayBuffer(bytes.length);
    new Uint8Array(file).set(bytes);
    const compressors = { ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)) };
    rows.push(...(await parquetReadObjects({ file, utf8: false, compressors })));
  }
  return rows;
}

export function filesOf(folder: string, table: TableName): string[] {
  return readdirSync(join(folder, table, 'data'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
