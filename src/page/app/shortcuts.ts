/**
 * Keys that work everywhere but where text is written: Ctrl-K and ⌘K for the palette, and single keys, which can be
 * switched off (WCAG 2.1.4).
 */
import { keptChoice } from './choices.ts';

export const singleKeys = keptChoice<'on' | 'off'>('single-keys', ['on', 'off'], 'on');

export type Action =
  | { readonly kind: 'palette' }
  | { readonly kind: 'search' }
  | { readonly kind: 'shortcuts' }
  /** `g` and the first letter of a section. */
  | { readonly kind: 'go'; readonly letter: string };

export interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly isComposing: boolean;
}

export interface Surroundings {
  /** Keys go into a field. */
  readonly isWriting: boolean;
  readonly hasSingleKeys: boolean;
  /** The key before was `g`, a moment ago. */
  readonly afterG: boolean;
}

/** What a key means; `prefix`: it depends on the next one. */
export function actionFor(
  key: Key,
  { isWriting, hasSingleKeys, afterG }: Surroundings,
): Action | 'prefix' | undefined {
  if (key.isComposing || key.altKey) return undefined;
  const letter = key.key.toLowerCase();
  if (key.ctrlKey || key.metaKey) return letter === 'k' ? { kind: 'palette' } : undefined;
  if (isWriting || !hasSingleKeys) return undefined;
  if (afterG && /^[a-z]$/.test(letter)) return { kind: 'go', letter };
  if (key.key === '/') return { kind: 'search' };
  if (key.key === '?') return { kind: 'shortcuts' };
  return letter === 'g' ? 'prefix' : undefined;
}

/** How long `g` waits for its letter. */
const prefixMs = 1500;

/** Answers how to end it. */
export function listenToKeys(act: (action: Action) => void): () => void {
  const ended = new AbortController();
  let prefixAt = Number.NEGATIVE_INFINITY;
  window.addEventListener(
    'keydown',
    (event) => {
      if (event.defaultPrevented) return;
      const action = actionFor(event, {
        isWriting: isField(event.target),
        hasSingleKeys: singleKeys.value === 'on',
        afterG: event.timeStamp - prefixAt < prefixMs,
      });
      prefixAt = action === 'prefix' ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (action === undefined || action === 'prefix') return;
      // A dialog is a layer of its own: nothing below it moves.
      if (action.kind !== 'palette' && document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      act(action);
    },
    { signal: ended.signal },
  );
  return () => ended.abort();
}

function isField(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return element?.matches?.('input, textarea, select, [contenteditable]') === true;
}
