/**
 * Uploaders' pages and the origin they are read in. Where content has a host of its own, its scripts may do what they
 * like there. Anywhere else they would run as the operator, or as whoever else is served at that host, and read what
 * those store: there a page runs in an origin of nobody's, and no script becomes a service worker.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isActiveType, isJavaScript } from '../formats/media-type.ts';

/** Whose the web origin is that an answer is read in. */
export type WebOrigin =
  /** The content's (the host of a name or a sandbox), or the operator's for content of the operator's choice. */
  | 'own'
  /** Everybody's: a root host, an address, a host that nobody listed. */
  | 'shared'
  /** The same on localhost, where pages are sent to hosts of their own and everything else is answered in place. */
  | 'localhost';

/**
 * Scripts, forms and links work as on any page; `allow-same-origin` would give the origin back (HTML §7.1.6). Windows
 * that a page opens are pages of their own again, or the sites it links to would not work.
 */
const sandbox =
  'sandbox allow-scripts allow-forms allow-modals allow-downloads allow-popups allow-popups-to-escape-sandbox';

/** Adds what keeps content of that type apart; nothing where the origin is its own. */
export function isolate(
  headers: Record<string, string | string[]>,
  contentType: string,
  origin: WebOrigin,
): void {
  if (origin === 'own') return;
  // What a browser guessed the type of could turn out to be a page.
  headers['x-content-type-options'] = 'nosniff';
  if (isActiveType(contentType)) headers['content-security-policy'] = sandbox;
  const vary = [headers.vary ?? []].flat();
  if (origin === 'localhost') vary.push('Sec-Fetch-Dest');
  // A cache must not have for a service worker what it has for a page.
  if (isJavaScript(contentType)) vary.push('Service-Worker');
  if (vary.length > 0) headers.vary = vary.join(', ');
}

/** A script that would answer for every page of its path from then on (Service Workers §4.1). */
export function asksForServiceWorker(headers: IncomingHttpHeaders): boolean {
  return headers['service-worker'] !== undefined;
}

/** A browser that shows the answer as a page, in a window or in a frame (Fetch Metadata §2.1). */
export function opensPage(headers: IncomingHttpHeaders): boolean {
  const destination = headers['sec-fetch-dest'];
  return destination === 'document' || destination === 'iframe' || destination === 'frame';
}
