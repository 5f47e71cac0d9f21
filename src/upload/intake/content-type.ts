import type { Tag } from '../../formats/avro-tags.ts';

const fallback = 'application/octet-stream';

/**
 * The content type an item's tags give it: the first `content-type` in whatever case, cut to 255 characters.
 * One that could not stand in a header is none.
 */
export function contentTypeOf(tags: readonly Tag[]): string {
  const value = tags.find(({ name }) => name.toLowerCase() === 'content-type')?.value.slice(0, 255) ?? '';
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) ? value : fallback;
}
