/** Which tests stand near a file: those that import it, over other files or at once, the nearest first. */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const imported = /(?:from|import|import\()\s*'(\.{1,2}\/[^']+\.ts)'|new URL\('(\.{1,2}\/[^']+\.ts)'/g;

export class ImportGraph {
  readonly #root: string;
  readonly #imports = new Map<string, readonly string[]>();
  readonly #texts = new Map<string, string>();
  readonly #hashes = new Map<string, string>();

  constructor(root: string) {
    this.#root = root;
  }

  text(file: string): string {
    let text = this.#texts.get(file);
    if (text === undefined) {
      text = readFileSync(join(this.#root, file), 'utf8');
      this.#texts.set(file, text);
    }
    return text;
  }

  /** Every file that loading `file` loads, and itself. */
  reached(file: string): Set<string> {
    const seen = new Set([file]);
    for (const one of seen) for (const next of this.#importsOf(one)) seen.add(next);
    return seen;
  }

  /** Of the text of all that `file` loads: as long as it stays, a test does what it did. */
  hash(file: string): string {
    let hash = this.#hashes.get(file);
    if (hash === undefined) {
      const all = createHash('sha256');
      for (const one of [...this.reached(file)].sort()) all.update(`${one}\n${this.text(one)}\n`);
      hash = all.digest('hex');
      this.#hashes.set(file, hash);
    }
    return hash;
  }

  /** Of folders, and test files that are named themselves. */
  testsIn(places: readonly string[]): string[] {
    return places.flatMap((place) =>
      place.endsWith('.ts') ? [place] : globSync(`${place}/**/*.test.ts`, { cwd: this.#root }).sort(),
    );
  }

  #importsOf(file: string): readonly string[] {
    let list = this.#imports.get(file);
    if (list === undefined) {
      const folder = dirname(resolve(this.#root, file));
      list = [...this.text(file).matchAll(imported)]
        .map((match) => resolve(folder, match[1] ?? match[2] ?? ''))
        .filter((path) => existsSync(path))
        .map((path) => relative(this.#root, path));
      this.#imports.set(file, list);
    }
    return list;
  }
}

/** How far a test stands from a file: its own, one of its folder, one of a folder around it, any other. */
export function distance(test: string, file: string): number {
  if (test === file.replace(/\.ts$/, '.test.ts')) return 0;
  if (dirname(test) === dirname(file)) return 1;
  return dirname(file).startsWith(dirname(test)) ? 2 : 3;
}
