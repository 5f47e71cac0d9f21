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
  /** The same where pages are sent to hosts of their own and everything else is answered in place. */
  | 'shared-without-pages';

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
  if (origin === 'shared-without-pages') addVary(headers, pagesVaryBy);
  // A cache must not have for a service worker what it has for a page.
  if (isJavaScript(contentType)) addVary(headers, 'Service-Worker');
}

function addVary(headers: Record<string, string | string[]>, names: string): void {
  headers.vary = [headers.vary ?? [], names].flat().join(', ');
}

/** A script that would answer for every page of its path from then on (Service Workers §4.1). */
export function asksForServiceWorker(headers: IncomingHttpHeaders): boolean {
  return headers['service-worker'] !== undefined;
}

/** Where pages are sent elsewhere, an answer depends on these. */
export const pagesVaryBy = 'Sec-Fetch-Dest, Accept';

const pageDestinations = new Set(['document', 'iframe', 'frame', 'embed', 'object', 'fencedframe']);

/**
 * A browser that shows the answer as a page, in a window or in a frame (Fetch Metadata §2.1). Images, media, fonts and
 * what programs read are not: explorers and wallets that show them follow no redirect to a host of every id. Browsers that
 * do not say what they want it for name HTML first when they open a page. On localhost they are not asked to: not every
 * resolver knows the hosts below it.
 */
export function opensPage(headers: IncomingHttpHeaders, rootHost: string): boolean {
  const destination = headers['sec-fetch-dest'];
  if (typeof destination === 'string') return pageDestinations.has(destination);
  return !isLocalhost(rootHost) && (headers.accept ?? '').includes('text/html');
}

const isLocalhost = (authority: string): boolean => /^localhost(:|$)/.test(authority);
