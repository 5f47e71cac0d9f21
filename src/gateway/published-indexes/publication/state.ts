/** What the publisher remembers: the last sequence, and digests of files it has read. Can be lost without harm. */
import { memberOf, tryParseJson } from '../../../formats/json.ts';
import { writeFileDurably } from '../../../kernel/files.ts';
import { readBounded } from '../files.ts';
import { isSha256 } from '../names.ts';

const maxBytes = 64 * 1024 * 1024;

export interface PublisherState {
  /** Highest sequence that was ever given out. */
  readonly sequence: number;
  /** By fingerprint of the file. */
  readonly digests: Map<string, string>;
  /** v1 infohashes by torrent name. */
  readonly torrents: Map<string, string>;
}

/** Where it cannot be read, the document on disk still says the sequence; digests are computed again. */
export async function readState(path: string): Promise<PublisherState> {
  const bytes = await readBounded(path, maxBytes).catch(() => undefined);
  const value = tryParseJson(bytes?.toString('utf8') ?? '');
  const sequence = memberOf(value, 'sequence');
  return {
    sequence: Number.isSafeInteger(sequence) ? Number(sequence) : 0,
    digests: textsOf(memberOf(value, 'digests'), isSha256),
    torrents: textsOf(memberOf(value, 'torrents'), (text) => /^[0-9a-f]{40}$/.test(text)),
  };
}

/** Forgets what belongs to files and torrents that are not listed any more. */
export function writeState(
  path: string,
  { sequence, digests, torrents }: PublisherState,
  listed: { readonly digests: ReadonlySet<string>; readonly infohashes: ReadonlySet<string> },
): Promise<void> {
  const kept = (texts: Map<string, string>, wanted: ReadonlySet<string>) =>
    Object.fromEntries([...texts].filter(([, text]) => wanted.has(text)));
  return writeFileDurably(
    path,
    JSON.stringify({
      sequence,
      digests: kept(digests, listed.digests),
      torrents: kept(torrents, listed.infohashes),
    }),
  );
}

function textsOf(value: unknown, isRight: (text: string) => boolean): Map<string, string> {
  const texts = new Map<string, string>();
  for (const [key, text] of Object.entries(Object(value)))
    if (typeof text === 'string' && isRight(text)) texts.set(key, text);
  return texts;
}
