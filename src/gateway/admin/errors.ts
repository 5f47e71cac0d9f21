/** What the admin routes refuse, in the contract's words: JSON strings (interface §4.4, §7). */
import { HttpError } from '../../kernel/errors.ts';

export const needsId = "Must provide 'id'";
export const needsHeaders = 'Must provide array of data item headers';
export const needsBundleId = 'Must provide a valid bundle id';

export const badRequest = (words: string) => new HttpError(400, words);

export const bundleNotFound = () => new HttpError(404, 'Bundle not found');

export const bundleQueueFull = () => new HttpError(429, 'Bundle importer queue is full', { retryAfter: 30 });

export const bundleNotQueued = (cause: unknown) =>
  new HttpError(503, 'Error queueing bundle', { cause, retryAfter: 5 });

/** Also for the upload service, whose announcements come again: it is not our fault, and passes. */
export const databaseUnavailable = (cause: unknown) =>
  new HttpError(503, 'Database unavailable', { cause, retryAfter: 5 });

export const tooManyItems = (most: number) =>
  new HttpError(400, `A batch holds at most ${most} data item headers`);

export const indexerBusy = () => new HttpError(503, 'Data item indexer is busy', { retryAfter: 1 });

export const pruneRunning = () => new HttpError(409, 'A prune is already in progress');

export const exportRunning = () => new HttpError(409, 'An export is already in progress');

export const noExportRunning = () => new HttpError(409, 'No export is in progress');

export const exportConflict = (words: string) => new HttpError(409, `The export does not fit in - ${words}`);

export const badExport = 'Invalid or missing required parameters';
