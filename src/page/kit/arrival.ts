/** Counts the steps from one path to another, so that the heading of what is shown then gets the focus. */
import { signal } from '@preact/signals';

export const arrivals = signal(0);
let focusedBefore: Element | null = null;

export function arrive(): void {
  focusedBefore = document.activeElement;
  arrivals.value += 1;
}

/** Whether the person has not gone on to a field or a link since: nobody's focus is taken away. */
export const isFocusFree = (): boolean =>
  document.activeElement === focusedBefore || document.activeElement === document.body;
