/**
 * Addresses without what in them may be a key. Providers put keys anywhere: before the host, as any part of the path,
 * in the query. So nothing of an address is shown but its scheme, host and port.
 */

export const hidden = '(hidden)';

const scheme = '[a-z][a-z0-9+.-]*:(?:\\\\?/){2}';
/** Up to white space, a quote, or a comma behind which the next address begins. */
const addressInText = new RegExp(`(${scheme})((?:(?!,\\s*${scheme})[^\\s"'\`])*)`, 'gi');
const wholeAddress = new RegExp(`^(${scheme})(.*)$`, 'is');
const plainHost = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]+)?$/i;
/** What a person may write in place of an address; anything else may be a key. */
const bareHost = /^(localhost|([a-z0-9_-]+\.)+[a-z]{2,}|([0-9]{1,3}\.){3}[0-9]{1,3})(:[0-9]{1,5})?$/i;

/** One address, or what stands in its place. */
export function hideInAddress(text: string): string {
  const [, begin = '', rest = ''] = wholeAddress.exec(text.trim()) ?? [];
  if (begin !== '') return begin + hideBehindScheme(rest);
  return text.trim() === '' || bareHost.test(text.trim()) ? text : hidden;
}

/** Every address in running text; the rest stays as it is. */
export function hideInText(text: string): string {
  return text.replace(addressInText, (_all, begin: string, rest: string) => begin + hideBehindScheme(rest));
}

/** The addresses in running text, without slashes at their end. */
export function addressesIn(text: string): string[] {
  return [...text.matchAll(addressInText)].map(([address]) => address.replace(/\/+$/, ''));
}

/** Addresses that stand one after the other, separated by commas. */
export function hideInList(text: string): string {
  const pieces = text.split(',');
  return pieces.map((piece) => hideInAddress(piece)).join(',');
}

/** Texts inside JSON: what may be an address is treated as one. */
export function hideInJson(text: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Somebody meant JSON: of what cannot be read nothing is known.
    return /["'{[:/@]/.test(text) ? hidden : hideInAddress(text);
  }
  return JSON.stringify(parsed, (_name, value: unknown) =>
    typeof value === 'string' && /[/@?=:]/.test(value) ? hideInAddress(value) : value,
  );
}

function hideBehindScheme(rest: string): string {
  const [authority = ''] = /^[^/?#\\]*/.exec(rest) ?? [];
  const behind = rest.slice(authority.length);
  const at = authority.lastIndexOf('@');
  const host = authority.slice(at + 1);
  // A password with a slash in it reads like a host and a path.
  if (!plainHost.test(host) || behind.includes('@')) return hidden;
  const path = behind === '' || behind === '/' ? behind : `/${hidden}`;
  return `${at === -1 ? '' : `${hidden}@`}${host}${path}`;
}
