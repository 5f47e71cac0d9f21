/** The highest sequence seen per publisher and key, so that an older document is never taken for a newer one. */
import { readBounded, writeWhole } from '../files.ts';

export class SeenSequences {
  readonly #path: string;
  readonly #seen: Map<string, number>;

  private constructor(path: string, seen: Map<string, number>) {
    this.#path = path;
    this.#seen = seen;
  }

  static async read(path: string): Promise<SeenSequences> {
    const bytes = await readBounded(path, 1024 * 1024);
    const seen = new Map<string, number>();
    if (bytes !== undefined) {
      const value: unknown = JSON.parse(bytes.toString('utf8'));
      for (const [who, sequence] of Object.entries(Object(value))) {
        if (typeof sequence === 'number' && Number.isSafeInteger(sequence)) seen.set(who, sequence);
      }
    }
    return new SeenSequences(path, seen);
  }

  of(publisher: string, key: string): number | undefined {
    return this.#seen.get(`${publisher}/${key}`);
  }

  async note(publisher: string, key: string, sequence: number): Promise<void> {
    this.#seen.set(`${publisher}/${key}`, sequence);
    await writeWhole(this.#path, JSON.stringify(Object.fromEntries(this.#seen)));
  }
}
