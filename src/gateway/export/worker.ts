/** An export on its own thread: encoding is work, and the event loop has readers to answer. */

import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../../storage/sql/open.ts';
import { gatewayMigrations } from '../migrations.ts';
import { writeFailure } from './folder.ts';
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
    send({ kind: 'failed', error: writeFailure(error, plan.outputDir) });
  }
}

const data: ExportWorkerData = workerData;
await run(data);
