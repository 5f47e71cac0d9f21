/** Who may call the API: the holder of the secret key, or a browser with an object's own client secret. */
import type { Guard, Request } from '../../kernel/http/server.ts';
import { sameSecret } from '../../kernel/same-secret.ts';
import { type CardApiError, noSuchRoute, secretKeyRequired, unauthorized } from './errors.ts';

export interface ProviderKeys {
  readonly secretKey: string;
  readonly publishableKey: string;
  readonly webhookSecret: string;
}

export type Caller = 'merchant' | 'browser';

/** `Authorization: Bearer <key>`, or Basic with the key as user name (what `curl -u key:` sends). */
export function callerOf(authorization: string | undefined, keys: ProviderKeys): Caller {
  const key = keyOf(authorization ?? '');
  if (key !== undefined && sameSecret(key, keys.secretKey)) return 'merchant';
  if (key !== undefined && sameSecret(key, keys.publishableKey)) return 'browser';
  throw unauthorized();
}

function keyOf(authorization: string): string | undefined {
  const [scheme = '', value = ''] = authorization.split(' ', 2);
  if (/^bearer$/i.test(scheme)) return value;
  if (/^basic$/i.test(scheme)) return Buffer.from(value, 'base64').toString().split(':', 1)[0];
  return undefined;
}

/** Any key: what a browser may do with its own is each call's to say. */
export function apiGuard(keys: ProviderKeys): Guard {
  return {
    check: (request) => void callerOf(request.headers.authorization, keys),
    noSuchRoute: unknownPath,
    preflights: true,
  };
}

/** The secret key. */
export function merchantGuard(keys: ProviderKeys): Guard {
  return {
    check(request) {
      if (callerOf(request.headers.authorization, keys) !== 'merchant') throw secretKeyRequired();
    },
    noSuchRoute: unknownPath,
  };
}

export const unknownPath = ({ method, url }: Request): CardApiError =>
  noSuchRoute(method, url.split('?', 1)[0] ?? url);
