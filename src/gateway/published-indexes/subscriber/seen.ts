/** The highest sequence seen per publisher and key, so that an older document is never taken for a newer one. */
import { tryParseJson } from '../../../formats/json.ts';
import { writeFileDurably } from '../../../kernel/files.ts';
import { readBounded, withLock } from '../files.ts';

export class SeenSequences {
  /** By publisher and key. */
  readonly entries: ReadonlyMap<string, number>;

  private constructor(entries: ReadonlyMap<string, number>) {
    this.entries = entries;
  }

  static async read(path: string): Promise<SeenSequences> {
    const bytes = await readBounded(path, 1024 * 1024);
    const seen = new Map<string, number>();
    // Where the file was damaged every publisher counts as new: nobody else could have damaged it.
    for (const [who, sequence] of Object.entries(Object(tryParseJson(bytes?.toString('utf8') ?? '')))) {
      if (typeof sequence === 'number' && Number.isSafeInteger(sequence)) seen.set(who, sequence);
    }
    return new SeenSequences(seen);
  }

  of(publisher: string, key: string): number | undefined {
    return this.entries.get(`${publisher}/${key}`);
  }

  /** Written over what is there now: other publishers are followed at the same time, by other processes too. */
  static note(path: string, publisher: string, key: string, sequence: number): Promise<void> {
    return withLock(`${path}.lock`, async () => {
      const { entries } = await SeenSequences.read(path);
      const who = `${publisher}/${key}`;
      const highest = Math.max(sequence, entries.get(who) ?? 0);
      await writeFileDurably(path, JSON.stringify(Object.fromEntries(new Map(entries).set(who, highest))));
    });
  }
}
