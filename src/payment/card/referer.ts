const longestReferer = 2_048;

/** The page that led here, for attribution; undefined when it is no web address. */
export function readReferer(header: string | undefined): string | undefined {
  if (header === undefined || header.length > longestReferer || !URL.canParse(header)) return undefined;
  const { protocol, origin, pathname } = new URL(header);
  return protocol === 'http:' || protocol === 'https:' ? `${origin}${pathname}` : undefined;
}
