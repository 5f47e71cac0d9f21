/** `If-None-Match` and `If-Range` (RFC 9110 §13) for content that has a strong ETag. */

const listLimit = 8 * 1024;

/** A strong entity tag, quoted. The value may hold no quote or control character. */
export function strongETag(value: string): string {
  return `"${value}"`;
}

/** Weak comparison: `W/` is ignored, `*` matches anything. True means 304 for GET and HEAD. */
export function noneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined || header.length > listLimit) return false;
  if (header.trim() === '*') return true;
  for (const [, tag] of header.matchAll(/(?:W\/)?("[^"]*")/g)) if (tag === etag) return true;
  return false;
}

/** Strong comparison: true when the ranges asked for may be served, false when the content changed. */
export function ifRange(header: string | undefined, etag: string, lastModified?: Date): boolean {
  if (header === undefined) return true;
  if (header.startsWith('"')) return header === etag;
  if (header.startsWith('W/') || lastModified === undefined) return false;
  return wholeSeconds(Date.parse(header)) === wholeSeconds(lastModified.getTime());
}

function wholeSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
