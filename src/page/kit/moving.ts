/** Whether what changes by itself goes on changing: not while nobody sees it, and not while the person has paused it (WCAG 2.2.2). */
import { effect, signal } from '@preact/signals';

export const isPaused = signal(false);
const isHidden = signal(false);

/** Called once, at the start of the page. */
export function watchVisibility(): void {
  const look = (): void => {
    isHidden.value = document.hidden;
  };
  document.addEventListener('visibilitychange', look);
  look();
}

/** At once, or when it goes on. It does not come any more after `signal` has ended it. */
export function whenMoving(signal: AbortSignal): Promise<void> {
  return when(() => !isPaused.value && !isHidden.value, signal);
}

/** When it stops, or at once. */
export function whenStill(signal: AbortSignal): Promise<void> {
  return when(() => isPaused.value || isHidden.value, signal);
}

function when(isSo: () => boolean, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return;
    const end = effect(() => {
      if (!isSo()) return;
      // The first look is before there is anything to end.
      queueMicrotask(() => end());
      resolve();
    });
    signal.addEventListener('abort', end, { once: true });
  });
}
