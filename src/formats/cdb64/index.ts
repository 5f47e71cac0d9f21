/** CDB64 files and the entries of the index that maps data items to their place on the chain. No I/O of its own. */
export * from './check.ts';
export * from './find.ts';
export { headerBytes, type ReadableFile, type WritableFile, writeFully } from './layout.ts';
export * from './root-entry.ts';
export * from './writer.ts';
