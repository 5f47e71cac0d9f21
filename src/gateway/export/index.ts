/**
 * The index as Parquet files: blocks, transactions and tags, for analytical stores.
 *
 * - `tables.ts`    the three tables, column by column
 * - `file.ts`      one Parquet file, written in row groups under a temporary name
 * - `write.ts`     a range of heights, partition by partition
 * - `worker.ts`    that, on a thread of its own with its own database connection
 * - `exporter.ts`  the job as the admin routes see it
 */
export { Exporter, type ExportRequest, type ExportStatus } from './exporter.ts';
export { ExportFolderError, resolveOutput } from './folder.ts';
