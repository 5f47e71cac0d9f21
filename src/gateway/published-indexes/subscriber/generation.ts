/** The identity of a band's content, which tells two bands of one id apart on disk. */
import { sha256Hex } from '../publication/document.ts';
import type { Band } from '../publication/read-indexes.ts';

/** `<band>~<first 12 hex digits of SHA-256 over the sorted lines name NUL size NUL digest>`; no id has a `~`. */
export function installedName({ id, files }: Band): string {
  const lines = files.map(({ name, size, sha256 }) => `${name}\0${size}\0${sha256}`).sort();
  return `${id}~${sha256Hex(lines.join('\n')).slice(0, 12)}`;
}
