/** What the hook routes refuse, and how. */
import { HttpError } from '../../kernel/errors.ts';

export const noSuchHook = () => new HttpError(404, 'No such hook');
export const noSuchLetter = () => new HttpError(404, 'No such dead letter');
export const invalidHook = (why: string) => new HttpError(400, `Invalid hook - ${why}`);
export const tooManyHooks = (max: number) => new HttpError(409, `Too many hooks - there may be ${max}`);
export const noRoomForHooks = () => new HttpError(503, 'No room for another hook', { retryAfter: 3_600 });
export const tooManySendings = () =>
  new HttpError(429, 'Too many dead letters are being sent', { retryAfter: 5 });
