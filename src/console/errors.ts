import { HttpError } from '../kernel/errors.ts';

export const unknownHost = () => new HttpError(421, 'This host is not one of CONSOLE_HOSTS');
export const foreignPage = () => new HttpError(403, 'Only the page of this console may ask this');
export const notSignedIn = () => new HttpError(401, 'Sign in as the operator first');
export const keyRefused = () => new HttpError(403, 'None of the services takes this key');
export const noOwnKeys = () =>
  new HttpError(403, 'This console does not know the keys of its services: enter the key');
export const tooManyTries = 'Too many keys that were wrong: wait a minute';
export const noSuchRoute = () => new HttpError(404, 'Not Found');
export const unknownService = (name: string) =>
  new HttpError(404, `This console is not told where the ${name} is`);
export const serviceAway = (name: string, cause: unknown) =>
  new HttpError(502, `The ${name} does not answer`, { cause });
export const answerTooLarge = (name: string) => new HttpError(502, `The answer of the ${name} is too large`);
export const notTheLocalNetwork = () => new HttpError(404, 'This console controls no local network');
export const tooManyStreams = () =>
  new HttpError(503, 'Too many pages watch this console', { retryAfter: 10 });
