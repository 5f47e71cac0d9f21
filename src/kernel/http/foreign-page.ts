/**
 * Web pages of strangers and a server on loopback: a browser lets any page send requests to it. What gives away or
 * changes something here is for programs, for people who type the address, and for pages of this machine.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopbackHost } from './loopback.ts';

/** Does a web page send this that was not served from this machine? Programs send none of these headers. */
export function isForeignPage(headers: IncomingHttpHeaders): boolean {
  const { origin, host = '' } = headers;
  const site = headers['sec-fetch-site'];
  if (origin !== undefined) return !isLoopbackOrigin(origin);
  if (site === undefined || site === 'none') return false;
  // A name that its owner lets point to this machine makes a page of theirs one of the same origin.
  return site === 'cross-site' || !isLoopbackOrigin(`http://${host}`);
}

function isLoopbackOrigin(origin: string): boolean {
  return URL.canParse(origin) && isLoopbackHost(new URL(origin).hostname);
}
