/** What the publisher remembers: the last sequence, and digests of files it has read. Can be lost without harm. */
import { writeFileDurably } from '../../../kernel/files.ts';
import { readBounded } from '../files.ts';
import { isSha256 } from '../names.ts';

const maxBytes = 64 * 1024 * 1024;

export class PublisherState {
  /** Highest sequence that was ever given out. */
  readonly sequence: number;
  /** By fingerprint of the file. */
  readonly digests: Map<string, string>;
  /** v1 infohashes by torrent name. */
  readonly torrents: Map<string, string>;
  readonly #path: string;

  private constructor(
    path: string,
    sequence: number,
    digests: Map<string, string>,
    torrents: Map<string, string>,
  ) {
    this.#path = path;
    this.sequence = sequence;
    this.digests = digests;
    this.torrents = torrents;
  }

  static async read(path: string): Promise<PublisherState> {
    let sequence = 0;
    let digests = new Map<string, string>();
    let torrents = new Map<string, string>();
    try {
      const bytes = await readBounded(path, maxBytes);
      const value: unknown = bytes === undefined ? undefined : JSON.parse(bytes.toString('utf8'));
      if (typeof value === 'object' && value !== null) {
        if ('sequence' in value && Number.isSafeInteger(value.sequence)) sequence = Number(value.sequence);
        if ('digests' in value) digests = textsOf(value.digests, isSha256);
        if ('torrents' in value) torrents = textsOf(value.torrents, (text) => /^[0-9a-f]{40}$/.test(text));
      }
    } catch {
      // The document on disk still says the sequence; digests are computed again.
    }
    return new PublisherState(path, sequence, digests, torrents);
  }

  /** Forgets what belongs to files and torrents that are not listed any more. */
  write(
    sequence: number,
    listed: { readonly digests: ReadonlySet<string>; readonly infohashes: ReadonlySet<string> },
  ): Promise<void> {
    const digests = [...this.digests].filter(([, digest]) => listed.digests.has(digest));
    const torrents = [...this.torrents].filter(([, infohash]) => listed.infohashes.has(infohash));
    return writeFileDurably(
      this.#path,
      JSON.stringify({
        sequence,
        digests: Object.fromEntries(digests),
        torrents: Object.fromEntries(torrents),
      }),
    );
  }
}

function textsOf(value: unknown, isRight: (text: string) => boolean): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [key, text] of Object.entries(Object(value)))
    if (typeof text === 'string' && isRight(text)) texts.set(key, text);
  return texts;
}
