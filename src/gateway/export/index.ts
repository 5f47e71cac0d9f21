/**
 * The index as Parquet files: blocks, transactions and tags, for analytical stores.
 *
 * - `tables.ts`       the three tables, column by column
 * - `read-*.ts`       what goes into them, from the index
 * - `rows.ts`         a block, a record and its tags as rows
 * - `parquet/`        the file format: columns, pages, footer
 * - `table-files.ts`  the files of a table in a partition, published together
 * - `write.ts`        a range of heights, partition by partition
 * - `worker.ts`       that, on a thread of its own with its own database connection
 * - `exporter.ts`     the job as the admin routes see it
 */
export { Exporter, type ExportRequest, type ExportStatus } from './exporter.ts';
export { ExportFolderError, resolveOutput } from './folder.ts';
