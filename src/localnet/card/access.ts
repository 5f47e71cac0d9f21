/** Who may call the API: the holder of the secret key, or a browser with an object's own client secret. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { unauthorized } from './errors.ts';

export interface ProviderKeys {
  readonly secretKey: string;
  readonly publishableKey: string;
  readonly webhookSecret: string;
}

export type Caller = 'merchant' | 'browser';

/** `Authorization: Bearer <key>`, or Basic with the key as user name (what `curl -u key:` sends). */
export function callerOf(authorization: string | undefined, keys: ProviderKeys): Caller {
  const key = keyOf(authorization ?? '');
  if (key !== undefined && sameText(key, keys.secretKey)) return 'merchant';
  if (key !== undefined && sameText(key, keys.publishableKey)) return 'browser';
  throw unauthorized();
}

function keyOf(authorization: string): string | undefined {
  const [scheme = '', value = ''] = authorization.split(' ', 2);
  if (/^bearer$/i.test(scheme)) return value;
  if (/^basic$/i.test(scheme)) return Buffer.from(value, 'base64').toString().split(':', 1)[0];
  return undefined;
}

/** Compares in constant time, whatever the lengths. */
export function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
