/** Bearer tokens (RFC 6750): compared in constant time, and guessed only slowly. */
import { RateLimit } from '../../kernel/http/rate-limit.ts';
import type { Request } from '../../kernel/http/server.ts';
import { sameSecret } from '../../kernel/same-secret.ts';
import { managementError } from '../errors.ts';

const failuresPerMinute = 5;

export function createBearerGuard(token: () => string) {
  const failures = new RateLimit(failuresPerMinute, 60_000);
  const holds = (request: Request): boolean => {
    const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    return given !== undefined && sameSecret(given, token());
  };
  return {
    holds,
    /** Throws 401, 403 or 429 unless the request carries the token. */
    require(request: Request, address: string): void {
      // Whoever has the token is never locked out by those who guess from the same address.
      if (holds(request)) return;
      if (request.headers.authorization === undefined) {
        throw managementError(401, 'Authorization header required', {}, { 'www-authenticate': 'Bearer' });
      }
      const { allowed, resetSeconds } = failures.take(address);
      if (!allowed) {
        throw managementError(429, 'Too many auth attempts', {}, { 'retry-after': String(resetSeconds) });
      }
      throw managementError(403, 'Invalid authorization token');
    },
  };
}
