/** Why the local network does not do what it is asked. */
import { HttpError } from '../../kernel/errors.ts';

/** It cannot be done now, or not in this installation; the message is for a person. */
export class ChangeRefused extends HttpError {
  override readonly name = 'ChangeRefused';

  constructor(message: string) {
    super(409, message);
  }
}

export const foreignPage = (): HttpError => new HttpError(403, 'Pages of other sites may not call this');

export const invalidName = (): HttpError =>
  new HttpError(400, 'A name of a snapshot is 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-", no dot first');

export const noSuchSnapshot = (name: string | undefined): HttpError =>
  new HttpError(404, name === undefined ? 'There is no snapshot' : `There is no snapshot ${name}`);

export const invalidTime = (why: string): HttpError => new HttpError(400, `Invalid time: ${why}`);

export const notAStateFile = (why: string): HttpError => new HttpError(400, `Not a saved state: ${why}`);

export const stateTooLarge = (): HttpError => new HttpError(413, 'A saved state has at most 16 GiB');
