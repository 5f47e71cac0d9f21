/** Small choices of the person about this page, kept in this browser. Nothing secret is among them. */
import { type Signal, signal } from '@preact/signals';

/** Browsers may refuse storage; the choice then lasts as long as the page. */
export function keptChoice<V extends string>(name: string, values: readonly V[], otherwise: V): Signal<V> {
  const key = `turnpike-${name}`;
  const choice = signal<V>(values.find((value) => value === readItem(key)) ?? otherwise);
  choice.subscribe((value) => {
    try {
      if (value === otherwise) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // Not kept.
    }
  });
  return choice;
}

function readItem(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
