import { HttpError } from '../kernel/errors.ts';

export const unknownHost = () => new HttpError(421, 'This host is not one of CONSOLE_HOSTS');
export const foreignPage = () => new HttpError(403, 'Only the page of this console may ask this');
