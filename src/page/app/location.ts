/** Where the page is: the path names everything that is shown, so that every view can be linked to and reloaded. */

import { signal } from '@preact/signals';
import { tryDecodePercent } from '../../formats/percent-encoding.ts';
import { arrive } from '../kit/arrival.ts';
import { keepScrollPositions, leaveEntry, scrollToEntry } from './scroll.ts';

export interface Place {
  readonly path: string;
  /** Of the path, decoded; none for `/`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

/** What every view is given. */
export interface ViewProps {
  readonly place: Place;
}

export const place = signal<Place>(readPlace(window.location.href));

/** Goes to a path of the page. `replace`: the step back leads past it. */
export function navigate(href: string, options: { replace?: boolean } = {}): void {
  const target = new URL(href, window.location.href);
  if (options.replace === true) history.replaceState(history.state, '', target);
  else history.pushState(leaveEntry(), '', target);
  if (moveTo(target.href)) window.scrollTo(0, 0);
}

/** Follows links of the page without loading it again, and the browser's own steps. */
export function followLinks(): void {
  keepScrollPositions();
  window.addEventListener('popstate', (event) => {
    leaveEntry();
    moveTo(window.location.href);
    scrollToEntry(event.state);
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    // Links in drawings have no `href` of text.
    const link = (event.target as Element | null)?.closest('a[href]');
    if (link === null || link === undefined) return;
    if (link.hasAttribute('target') || link.hasAttribute('download')) return;
    const { href, origin, hash } = new URL(link.getAttribute('href') ?? '', window.location.href);
    // A place inside the view is the browser's to find.
    if (origin !== window.location.origin || hash !== '') return;
    event.preventDefault();
    if (href !== window.location.href) navigate(href);
  });
}

/** Whether it is another path than before. */
function moveTo(href: string): boolean {
  const before = place.value.path;
  place.value = readPlace(href);
  if (place.value.path === before) return false;
  arrive();
  return true;
}

function readPlace(href: string): Place {
  const { pathname, searchParams } = new URL(href);
  const segments = pathname.split('/').filter((segment) => segment !== '');
  return { path: pathname, segments: segments.map(decode), query: searchParams };
}

function decode(segment: string): string {
  return tryDecodePercent(segment) ?? segment;
}
