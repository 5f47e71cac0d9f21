/** Every refusal of the index routes. All carry `no-store`: an error must never be kept for as long as a file. */
import { HttpError } from '../../kernel/errors.ts';

const headers = { 'cache-control': 'no-store' };

export const notPublished = () => new HttpError(404, {}, { headers });
export const invalidName = () => new HttpError(400, 'Invalid index, band or file name', { headers });
export const invalidInfohash = () => new HttpError(400, 'Invalid infohash', { headers });
export const notAvailable = () =>
  new HttpError(503, 'Index file is not available yet', { headers, retryAfter: 60 });
export const beingUpdated = () =>
  new HttpError(503, 'Index file is being updated', { headers, retryAfter: 60 });
export const malformedRange = () => new HttpError(400, "Malformed 'range' header", { headers });
export const unsatisfiableRange = (size: number) =>
  new HttpError(416, 'Range not satisfiable', {
    headers: { ...headers, 'content-range': `bytes */${size}` },
  });
