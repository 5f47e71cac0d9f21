/** An export on its own thread: encoding is work, and the event loop has readers to answer. */

import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../kernel/errors.ts';
import { openDatabase } from '../../storage/sql/open.ts';
import { gatewayMigrations } from '../migrations.ts';
import { type ExportPlan, type ExportProgress, writeExport } from './write.ts';

export interface ExportWorkerData {
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly plan: ExportPlan;
  /** Shared with the exporter, who sets its first element when the work must end. */
  readonly stop: Int32Array;
}

export type ExportMessage =
  | { readonly kind: 'progress' | 'done'; readonly progress: ExportProgress }
  | { readonly kind: 'failed'; readonly error: string };

async function run({ databaseUrl, dataDir, plan, stop }: ExportWorkerData): Promise<void> {
  const send = (message: ExportMessage): void => parentPort?.postMessage(message);
  try {
    const sql = await openDatabase({ databaseUrl, dataDir, name: 'gateway', migrations: gatewayMigrations });
    try {
      const report = (progress: ExportProgress) => send({ kind: 'progress', progress });
      const stopped = () => Atomics.load(stop, 0) !== 0;
      send({ kind: 'done', progress: await writeExport(sql, plan, report, stopped) });
    } finally {
      await sql.close();
    }
  } catch (error) {
    send({ kind: 'failed', error: reasonOf(error, plan) });
  }
}

/** What an operator has to see to, in plain words where the disk is at fault. */
function reasonOf(error: unknown, { outputDir }: ExportPlan): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  const words = messageOf(error);
  const disk = typeof code === 'string' ? diskFaults[code] : undefined;
  return disk === undefined ? words : `${disk}: ${outputDir} (${words})`;
}

const diskFaults: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk of the export folder is full',
  EDQUOT: 'The disk quota of the export folder is used up',
  EFBIG: 'A file of the export grew beyond what the system allows',
  EROFS: 'The export folder is read-only',
  EACCES: 'The export folder may not be written',
};

const data: ExportWorkerData = workerData;
await run(data);
