/** Bearer tokens (RFC 6750): compared in constant time, and guessed only slowly. */
import type { Request } from '../../kernel/http/server.ts';
import { SharedRate } from '../../kernel/http/shared-rate.ts';
import { sameSecret } from '../../kernel/same-secret.ts';
import { managementError } from '../errors.ts';

type Asking = Pick<Request, 'headers'>;

const failuresPerMinute = 5;

/** `name`: what is tried; tries count together wherever it is the same. */
export function createBearerGuard(name: string, token: () => string) {
  const failures = new SharedRate({ name: `tries of ${name}`, limit: failuresPerMinute, windowMs: 60_000 });
  const tokenOf = ({ headers }: Asking) => /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
  const require = async (request: Asking, address: string): Promise<void> => {
    if (request.headers.authorization === undefined) {
      throw managementError(401, 'Authorization header required', {}, { 'www-authenticate': 'Bearer' });
    }
    const given = tokenOf(request);
    const isRight = given !== undefined && sameSecret(given, token());
    // The right one is refused too while there were too many wrong ones: else the one right guess among many would
    // pass. It counts by network, so that those who guess elsewhere lock nobody out.
    const { allowed, resetSeconds } = await (isRight ? failures.look(address) : failures.take(address));
    if (!allowed) {
      throw managementError(429, 'Too many auth attempts', {}, { 'retry-after': String(resetSeconds) });
    }
    if (!isRight) throw managementError(403, 'Invalid authorization token');
  };
  return {
    /** Rejects with 401, 403 or 429 unless the request carries the token. */
    require,
    /** The same as an answer, for what is open to all and says more to the operator. */
    holds: (request: Asking, address: string): Promise<boolean> =>
      require(request, address).then(
        () => true,
        () => false,
      ),
  };
}
