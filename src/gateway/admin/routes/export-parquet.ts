/** `export-parquet` and its status (interface §4.4). */
import { Type } from 'typebox';
import type { App } from '../../../kernel/http/server.ts';
import { DatasetConflict } from '../../export/dataset.ts';
import { ExportFolderError } from '../../export/folder.ts';
import { badExport, badRequest, exportConflict, exportRunning, noExportRunning } from '../errors.ts';
import type { ExportSchedule } from '../export-schedule.ts';
import type { Exports } from '../exports.ts';

const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export function exportRoutes(app: App, exports: Exports, schedule: ExportSchedule | undefined): void {
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
      const { outputDir, startHeight, endHeight } = body;
      if (startHeight > endHeight || outputDir.trim() === '') throw badRequest(badExport);
      const request = {
        ...{ outputDir, startHeight, endHeight },
        maxFileRows: body.maxFileRows ?? 0,
        heightPartitionSize: body.heightPartitionSize ?? 1_000,
        skipL1Transactions: body.skipL1Transactions ?? false,
        skipL1Tags: body.skipL1Tags ?? false,
        resume: body.resume ?? false,
      };
      const started = await exports.start(request).catch(refuseFolder);
      if (started === undefined) throw exportRunning();
      const { jobId, stableHeight } = started;
      return {
        message: 'Parquet export started',
        ...{ jobId, stableHeight },
        // The answer stays that of a start: callers then wait for the status of its job.
        ...(startHeight > stableHeight && { warning: nothingStable(startHeight, stableHeight) }),
      };
    },
  );

  app.post(
    '/export-parquet/cancel',
    { schema: { summary: 'End the running export; what it has finished stays', tags: ['admin'] } },
    async () => {
      if (!(await exports.cancel())) throw noExportRunning();
      return { message: 'Parquet export is being cancelled' };
    },
  );

  app.get(
    '/export-parquet/status',
    { schema: { summary: 'How far the export is', tags: ['admin'] } },
    async () => {
      // First: an export that its schedule knows to be over says so itself.
      const scheduled = await schedule?.state();
      return { ...(await exports.status()), ...(scheduled !== undefined && { schedule: scheduled }) };
    },
  );
}

const nothingStable = (startHeight: number, stableHeight: number) =>
  `Nothing is exported: heights are stable up to ${stableHeight}, and the export starts at ${startHeight}`;

function refuseFolder(error: unknown): never {
  if (error instanceof ExportFolderError) throw badRequest(`Invalid outputDir - ${error.message}`);
  if (error instanceof DatasetConflict) throw exportConflict(error.message);
  throw error;
}
