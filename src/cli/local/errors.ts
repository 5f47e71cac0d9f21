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
