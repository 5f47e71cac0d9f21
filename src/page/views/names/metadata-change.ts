/** The fields of a record's metadata as they are written in a form, and the change that they ask for. */
export interface MetadataFields {
  readonly displayName: string;
  readonly logo: string;
  readonly description: string;
  /** With commas between them. */
  readonly keywords: string;
}

/** Only what differs: a value sets, null clears; undefined where nothing differs. */
export function metadataChange(
  before: MetadataFields,
  after: MetadataFields,
): Readonly<Record<string, string | readonly string[] | null>> | undefined {
  const wanted = (key: keyof MetadataFields): string | undefined => {
    const text = plain(after[key]);
    return text === plain(before[key]) ? undefined : text;
  };
  const keywords = wanted('keywords');
  const values = {
    displayName: wanted('displayName'),
    recordLogo: wanted('logo'),
    recordDescription: wanted('description'),
    recordKeywords: keywords === undefined || keywords === '' ? keywords : wordsOf(keywords),
  };
  const changed = Object.entries(values).flatMap(
    ([key, value]): [string, string | readonly string[] | null][] =>
      value === undefined ? [] : [[key, value === '' ? null : value]],
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** One line: the owner's proof gives line breaks a meaning of their own. */
const plain = (text: string): string => text.replace(/\s+/g, ' ').trim();

const wordsOf = (text: string): string[] =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
