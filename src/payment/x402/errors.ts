/** What the x402 door answers to a request that is wrong (interface §4.1). */
import { HttpError } from '../../kernel/errors.ts';

const headers = { 'cache-control': 'no-store' };

export const invalidQuantity = () => new HttpError(400, 'Invalid quantity parameter', { headers });
export const invalidAddress = () => new HttpError(400, 'Invalid address parameter', { headers });
