/** `export-parquet` and its status (interface §4.4). */
import { Type } from 'typebox';
import type { App } from '../../../kernel/http/server.ts';
import type { Exporter } from '../../export/exporter.ts';
import { ExportFolderError, resolveOutput } from '../../export/folder.ts';
import { badExport, badRequest, exportRunning } from '../errors.ts';
import type { SharedJob } from '../shared-job.ts';

const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export interface ExportRoutesOptions {
  readonly exporter: Exporter;
  readonly job: SharedJob;
  /** Every export lies in it. */
  readonly folder: string;
  /** Rows above it may still move. */
  readonly stableHeight: () => number;
}

export function exportRoutes(app: App, { exporter, job, folder, stableHeight }: ExportRoutesOptions): void {
  app.post(
    '/export-parquet',
    {
      schema: {
        summary: 'Write stable blocks, transactions and tags as Parquet files, in the background',
        tags: ['admin'],
        body: Type.Object({
          outputDir: Type.String({ minLength: 1, maxLength: 1_024, description: 'Inside the export folder' }),
          startHeight: Whole,
          endHeight: Whole,
          maxFileRows: Type.Optional(Type.Integer({ ...Whole, description: '0 = no limit' })),
          heightPartitionSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000 })),
          skipL1Transactions: Type.Optional(Type.Boolean()),
          skipL1Tags: Type.Optional(Type.Boolean()),
          resume: Type.Optional(Type.Boolean({ description: 'Leave out partitions that are done already' })),
        }),
      },
      config: { invalid: badExport },
    },
    async ({ body }) => {
      const { outputDir, startHeight, endHeight, ...options } = body;
      if (startHeight > endHeight || outputDir.trim() === '') throw badRequest(badExport);
      const resolved = output(folder, outputDir);
      if (!(await job.claim())) throw exportRunning();
      const lastHeight = Math.min(endHeight, Math.max(startHeight - 1, stableHeight()));
      const request = {
        outputDir: resolved,
        startHeight,
        endHeight: lastHeight,
        maxFileRows: options.maxFileRows ?? 0,
        heightPartitionSize: options.heightPartitionSize ?? 1_000,
        skipL1Transactions: options.skipL1Transactions ?? false,
        skipL1Tags: options.skipL1Tags ?? false,
        resume: options.resume ?? false,
      };
      const shown = { endHeight, ...(lastHeight < endHeight && { exportedToHeight: lastHeight }) };
      const { jobId, ended } = exporter.start(request, shown);
      void job.follow(() => exporter.status, ended);
      return { message: 'Parquet export started', jobId };
    },
  );

  app.get('/export-parquet/status', { schema: { summary: 'How far the export is', tags: ['admin'] } }, () =>
    job.status(),
  );
}

function output(folder: string, asked: string): string {
  try {
    return resolveOutput(folder, asked);
  } catch (error) {
    if (error instanceof ExportFolderError) throw badRequest(`Invalid outputDir - ${error.message}`);
    throw error;
  }
}
