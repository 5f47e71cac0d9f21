/** Counts the steps from one path to another, so that the heading of what is shown then gets the focus. */
import { signal } from '@preact/signals';

export const arrivals = signal(0);
