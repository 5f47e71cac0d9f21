/** The page that led to a request, kept with payments for attribution; undefined when it is no web address. */
export function readReferer(header: string | undefined, maxLength: number): URL | undefined {
  if (header === undefined || header.length > maxLength || !URL.canParse(header)) return undefined;
  const url = new URL(header);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
}
