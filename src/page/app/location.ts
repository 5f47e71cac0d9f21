/** Where the page is: the path names everything that is shown, so that every view can be linked to and reloaded. */
import { signal } from '@preact/signals';

export interface Place {
  readonly path: string;
  /** Of the path, decoded; none for `/`. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export const place = signal<Place>(readPlace(window.location.href));

/** Goes to a path of the page. `replace`: the step back leads past it. */
export function navigate(href: string, options: { replace?: boolean } = {}): void {
  const target = new URL(href, window.location.href);
  if (options.replace === true) history.replaceState(null, '', target);
  else history.pushState(null, '', target);
  arrive(target.href);
}

/** Follows links of the page without loading it again, and the browser's own steps. */
export function followLinks(): void {
  window.addEventListener('popstate', () => arrive(window.location.href));
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest('a');
    if (link === null || link === undefined || link.target !== '' || link.hasAttribute('download')) return;
    if (new URL(link.href).origin !== window.location.origin) return;
    event.preventDefault();
    if (link.href !== window.location.href) navigate(link.href);
  });
}

function arrive(href: string): void {
  const before = place.value.path;
  place.value = readPlace(href);
  if (place.value.path !== before) window.scrollTo(0, 0);
}

function readPlace(href: string): Place {
  const { pathname, searchParams } = new URL(href);
  const segments = pathname.split('/').filter((segment) => segment !== '');
  return { path: pathname, segments: segments.map(decode), query: searchParams };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
