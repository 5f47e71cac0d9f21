/** What the publisher remembers: the last sequence, and digests of files it has read. Can be lost without harm. */
import { readBounded, writeWhole } from '../files.ts';
import { isSha256 } from '../names.ts';

const maxBytes = 64 * 1024 * 1024;

export class PublisherState {
  /** Highest sequence that was ever given out. */
  readonly sequence: number;
  /** By fingerprint of the file. */
  readonly digests: Map<string, string>;
  readonly #path: string;

  private constructor(path: string, sequence: number, digests: Map<string, string>) {
    this.#path = path;
    this.sequence = sequence;
    this.digests = digests;
  }

  static async read(path: string): Promise<PublisherState> {
    let sequence = 0;
    const digests = new Map<string, string>();
    try {
      const bytes = await readBounded(path, maxBytes);
      const value: unknown = bytes === undefined ? undefined : JSON.parse(bytes.toString('utf8'));
      if (typeof value === 'object' && value !== null) {
        if ('sequence' in value && Number.isSafeInteger(value.sequence)) sequence = Number(value.sequence);
        if ('digests' in value && typeof value.digests === 'object' && value.digests !== null) {
          for (const [fingerprint, digest] of Object.entries(value.digests)) {
            if (typeof digest === 'string' && isSha256(digest)) digests.set(fingerprint, digest);
          }
        }
      }
    } catch {
      // The document on disk still says the sequence; digests are computed again.
    }
    return new PublisherState(path, sequence, digests);
  }

  /** Forgets the digests of files that are not listed any more. */
  write(sequence: number, listed: ReadonlySet<string>): Promise<void> {
    const digests = [...this.digests].filter(([, digest]) => listed.has(digest));
    return writeWhole(this.#path, JSON.stringify({ sequence, digests: Object.fromEntries(digests) }));
  }
}
