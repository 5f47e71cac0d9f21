/**
 * The admin key: `Authorization: Bearer <key>` and nothing else, compared in constant time (interface §5). It is
 * asked before a path is looked at, so that without it nothing can be learnt, not even which routes there are.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { StartupError } from '../../kernel/errors.ts';
import type { App } from '../../kernel/http/server.ts';
import { unauthorized } from './errors.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Guards every route of the scope, and keeps its answers out of caches and of other sites' pages. */
export function guardWithKey(scope: App, key: string): void {
  if (key === '') throw new StartupError('the admin key is empty: set ADMIN_API_KEY or ADMIN_API_KEY_FILE');
  const expected = digest(`Bearer ${key}`);
  scope.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    reply.removeHeader('access-control-allow-origin');
    // Digests have one length: neither the key's length nor its first wrong letter can be timed.
    if (!timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) throw unauthorized();
  });
}

/** Tells keys apart in the log without showing them. */
export function fingerprint(key: string): string {
  return digest(key).toString('hex').slice(0, 8);
}
