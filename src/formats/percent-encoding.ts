/** Without its escapes; undefined where a `%` begins none, or what they make is no UTF-8. */
export function tryDecodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
