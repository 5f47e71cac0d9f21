/** The cookie of a session. Cookies are shared by all ports of a host, so that each console has a name of its own. */
import type { Request } from '../kernel/http/app.ts';

const sane = /^[A-Za-z0-9_-]{43}$/;

const nameOf = (port: number): string => `turnpike-console-${port}`;

/** The session id that the browser sent; undefined where there is none. */
export function readSessionCookie({ headers }: Pick<Request, 'headers'>, port: number): string | undefined {
  const start = `${nameOf(port)}=`;
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const value = pairs.find((pair) => pair.startsWith(start))?.slice(start.length);
  return value !== undefined && sane.test(value) ? value : undefined;
}

/** Undefined as id has the browser forget it. */
export function writeSessionCookie(id: string | undefined, port: number, isSecure: boolean): string {
  return [
    `${nameOf(port)}=${id ?? ''}`,
    'Path=/api',
    'HttpOnly',
    'SameSite=Strict',
    ...(isSecure ? ['Secure'] : []),
    ...(id === undefined ? ['Max-Age=0'] : []),
  ].join('; ');
}
