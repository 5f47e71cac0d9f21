/**
 * How far each step of the browser's history was scrolled. Views are loaded after the step, so the browser's own way back
 * to it would find nothing to scroll yet.
 */

/** In the history's state, which survives a reload. */
interface Entry {
  readonly entry: number;
  readonly top?: number;
}

const positions = new Map<number, number>();
let current = 0;
let newest = 0;

/** How long a view may take to become as high as it was. */
const growsForMs = 2000;

export function keepScrollPositions(): void {
  history.scrollRestoration = 'manual';
  const { entry, top } = entryIn(history.state);
  current = entry;
  newest = entry;
  window.addEventListener('pagehide', () => {
    history.replaceState({ entry: current, top: window.scrollY } satisfies Entry, '');
  });
  if (top !== undefined && top > 0) scrollWhenGrown(top);
}

/** Remembers how far the current entry is scrolled; answers the state of the entry that comes after it. */
export function leaveEntry(): Entry {
  positions.set(current, window.scrollY);
  newest += 1;
  current = newest;
  return { entry: current };
}

/** After a step to an entry that was there before. */
export function scrollToEntry(state: unknown): void {
  current = entryIn(state).entry;
  scrollWhenGrown(positions.get(current) ?? 0);
}

function scrollWhenGrown(top: number): void {
  const until = performance.now() + growsForMs;
  const interrupted = new AbortController();
  for (const event of ['wheel', 'touchmove', 'keydown', 'pointerdown']) {
    window.addEventListener(event, () => interrupted.abort(), { passive: true, signal: interrupted.signal });
  }
  const step = (): void => {
    if (interrupted.signal.aborted) return;
    window.scrollTo(0, top);
    if (Math.abs(window.scrollY - top) > 1 && performance.now() < until) requestAnimationFrame(step);
    else interrupted.abort();
  };
  step();
}

function entryIn(state: unknown): Entry {
  const { entry, top } = (state ?? {}) as { entry?: unknown; top?: unknown };
  return {
    entry: typeof entry === 'number' ? entry : 0,
    ...(typeof top === 'number' && { top }),
  };
}
