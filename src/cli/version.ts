import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The package's version, found from the checkout and from the published package alike. */
export const version: string = readVersion(import.meta.dirname);

function readVersion(folder: string): string {
  try {
    const parsed: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    if (typeof parsed === 'object' && parsed !== null && 'version' in parsed) return String(parsed.version);
  } catch (error) {
    if (dirname(folder) === folder) throw error;
  }
  return readVersion(dirname(folder));
}
