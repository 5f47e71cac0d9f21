/**
 * URLs without what may be a key in them. Providers put keys anywhere: before the host, as any part of the path, in the
 * query. So nothing of a URL is shown but its scheme, host and port.
 */
export const redacted = '(hidden)';

const scheme = '[a-z][a-z0-9+.-]*:(?:\\\\?/){2}';
/** Up to white space, a quote, or a comma before the next URL. */
const urlInText = new RegExp(`(${scheme})((?:(?!,\\s*${scheme})[^\\s"'\`])*)`, 'gi');
const wholeUrl = new RegExp(`^(${scheme})(.*)$`, 'is');
const plainHost = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]+)?$/i;
/** What a person may write in place of a URL; anything else may be a key. */
const bareHost = /^(localhost|([a-z0-9_-]+\.)+[a-z]{2,}|([0-9]{1,3}\.){3}[0-9]{1,3})(:[0-9]{1,5})?$/i;

/** One URL, or what stands in its place. */
export function redactUrl(text: string): string {
  const [, begin = '', rest = ''] = wholeUrl.exec(text.trim()) ?? [];
  if (begin !== '') return begin + redactBehindScheme(rest);
  return text.trim() === '' || bareHost.test(text.trim()) ? text : redacted;
}

/** Every URL in running text; the rest stays as it is. */
export function redactUrlsInText(text: string): string {
  return text.replace(urlInText, (_all, begin: string, rest: string) => begin + redactBehindScheme(rest));
}

/** The URLs in running text, without slashes at their end. */
export function urlsIn(text: string): string[] {
  return [...text.matchAll(urlInText)].map(([url]) => url.replace(/\/+$/, ''));
}

/** URLs separated by commas. */
export function redactUrlList(text: string): string {
  const pieces = text.split(',');
  return pieces.map((piece) => redactUrl(piece)).join(',');
}

/** Texts inside JSON: what may be a URL is treated as one, and members of the names in `secrets` are not shown at all. */
export function redactUrlsInJson(text: string, secrets: readonly string[] = []): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // It was meant as JSON and cannot be read: it may hold anything.
    return secrets.length > 0 || /["'{[:/@]/.test(text) ? redacted : redactUrl(text);
  }
  return JSON.stringify(parsed, (name, value: unknown) => {
    if (secrets.includes(name)) return redacted;
    return typeof value === 'string' && /[/@?=:]/.test(value) ? redactUrl(value) : value;
  });
}

/** Texts that members of these names have anywhere in JSON; none where it cannot be read. */
export function membersOfJson(text: string, names: readonly string[]): string[] {
  const found: string[] = [];
  if (names.length === 0) return found;
  try {
    JSON.parse(text, (name, value: unknown) => {
      if (names.includes(name) && typeof value === 'string') found.push(value);
      return value;
    });
  } catch {
    return [];
  }
  return found;
}

function redactBehindScheme(rest: string): string {
  const [authority = ''] = /^[^/?#\\]*/.exec(rest) ?? [];
  const behind = rest.slice(authority.length);
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  // A password with a slash in it looks like a host and a path.
  if (!plainHost.test(host) || behind.includes('@')) return redacted;
  const path = behind === '' || behind === '/' ? behind : `/${redacted}`;
  return `${at === -1 ? '' : `${redacted}@`}${host}${path}`;
}
