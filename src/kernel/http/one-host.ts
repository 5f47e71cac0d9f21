/** Requests that name their host more than once: by two lines, or by a target in absolute form. */
import type { IncomingMessage } from 'node:http';

/**
 * Whether a request names one host only (RFC 9112 §3.2): two `Host` lines, or a target in absolute form that says
 * another host than they do, could mean one site to a cache in front and another one here.
 */
export function namesOneHost({ rawHeaders, url = '/' }: IncomingMessage): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== 4 || name.toLowerCase() !== 'host') continue;
    count += 1;
    if (count > 1 || (!url.startsWith('/') && !sameHost(url, rawHeaders[index + 1] ?? ''))) return false;
  }
  return true;
}

function sameHost(url: string, host: string): boolean {
  const authority = /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1];
  return authority === undefined || authority.toLowerCase() === host.toLowerCase();
}

/** Path and query of a target, also where it came in absolute form (RFC 9112 §3.2.2). */
export function originForm(url: string): string {
  return /^[a-z]+:\/\//i.test(url) ? url.replace(/^[a-z]+:\/\/[^/?#]*\/?/i, '/') : url;
}
