/**
 * The admin key: `Authorization: Bearer <key>` and nothing else, compared in constant time (interface §5). It is
 * asked before a path is looked at, so that without it nothing can be learnt, not even which routes there are. Also
 * keeps the answers out of caches.
 */
import { HttpError, StartupError } from '../errors.ts';
import type { Guard } from '../http/guard.ts';
import { sameSecret } from '../same-secret.ts';

export function adminGuard(key: string): Guard {
  if (key === '') throw new StartupError('the admin key is empty: set ADMIN_API_KEY or ADMIN_API_KEY_FILE');
  const expected = `Bearer ${key}`;
  return {
    check(request, reply) {
      reply.header('cache-control', 'no-store');
      if (!sameSecret(request.headers.authorization ?? '', expected)) {
        throw new HttpError(401, 'Unauthorized', { headers: { 'www-authenticate': 'Bearer' } });
      }
    },
    noSuchRoute: () => new HttpError(404, 'Not Found'),
  };
}
