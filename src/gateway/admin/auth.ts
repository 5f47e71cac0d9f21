/**
 * The admin key: `Authorization: Bearer <key>` and nothing else, compared in constant time (interface §5). It is
 * asked before a path is looked at, so that without it nothing can be learnt, not even which routes there are.
 */
import { createHash } from 'node:crypto';
import { StartupError } from '../../kernel/errors.ts';
import type { Guard } from '../../kernel/http/server.ts';
import { sameSecret } from '../../kernel/same-secret.ts';
import { noSuchRoute, unauthorized } from './errors.ts';

/** Also keeps the answers out of caches and of other sites' pages. */
export function adminGuard(key: string): Guard {
  if (key === '') throw new StartupError('the admin key is empty: set ADMIN_API_KEY or ADMIN_API_KEY_FILE');
  const expected = `Bearer ${key}`;
  return {
    check(request, reply) {
      reply.header('cache-control', 'no-store');
      reply.removeHeader('access-control-allow-origin');
      if (!sameSecret(request.headers.authorization ?? '', expected)) throw unauthorized();
    },
    noSuchRoute,
  };
}

/** Tells keys apart in the log without showing them. */
export function fingerprint(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8);
}
