/** `?state=open&before=…` of what is given; empty without anything. */
export function pageQuery(values: Readonly<Record<string, string | null | undefined>>): string {
  const given = Object.entries(values).filter(
    (entry): entry is [string, string] => entry[1] != null && entry[1] !== '',
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}
