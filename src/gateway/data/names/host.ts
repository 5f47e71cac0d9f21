/**
 * What a request's host asks for (interface §4.4; hosts below a root host belong to a name or to the sandbox of
 * one id, their whole path space too).
 */
import { isTxId, tryDecodeBase64url } from '../../../formats/base64url.ts';

export type HostKind =
  /** The gateway itself. `rootHost` is the configured one that matched, with the port the client used. */
  | { readonly kind: 'root'; readonly rootHost: string | undefined }
  | { readonly kind: 'name'; readonly label: string; readonly rootHost: string }
  | { readonly kind: 'sandbox'; readonly label: string; readonly rootHost: string }
  /** More than one label below a root host: nobody is there. */
  | { readonly kind: 'nobody' };

const sandboxLabel = /^[a-z2-7]{52}$/;
const nameLabel = /^[a-z0-9_-]{1,63}$/;
/** A longer label without an undername is no name. */
const maxNameLength = 51;

/** `rootHosts` are lower case, without port, longest first. */
export function parseHost(header: string | undefined, rootHosts: readonly string[]): HostKind {
  const text = (header ?? '').toLowerCase();
  const colon = text.lastIndexOf(':');
  const hasPort = colon > text.lastIndexOf(']');
  const host = (hasPort ? text.slice(0, colon) : text).replace(/\.$/, '');
  const port = hasPort ? text.slice(colon) : '';
  for (const rootHost of rootHosts) {
    if (host === rootHost || host === `www.${rootHost}`) return { kind: 'root', rootHost: rootHost + port };
    if (!host.endsWith(`.${rootHost}`)) continue;
    const label = host.slice(0, -rootHost.length - 1);
    if (sandboxLabel.test(label)) return { kind: 'sandbox', label, rootHost: rootHost + port };
    return isNameLabel(label) ? { kind: 'name', label, rootHost: rootHost + port } : { kind: 'nobody' };
  }
  return { kind: 'root', rootHost: undefined };
}

/** A name, or an undername of one, as it stands in a host. */
export function isNameLabel(label: string): boolean {
  return nameLabel.test(label) && (label.length <= maxNameLength || label.includes('_'));
}

/** Name and undername of a label: split at the last underscore, `@` where there is no undername. */
export function splitLabel(label: string): { readonly name: string; readonly undername: string } {
  const split = label.lastIndexOf('_');
  if (split <= 0) return { name: label, undername: '@' };
  return { name: label.slice(split + 1), undername: label.slice(0, split) };
}

const base32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** The label that gives an id a web origin of its own: base32 (RFC 4648, lower case, no padding) of its bytes. */
export function sandboxOf(id: string): string {
  const bytes = isTxId(id) ? tryDecodeBase64url(id) : undefined;
  if (bytes === undefined) throw new Error(`${id} is not an id`);
  let label = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      label += base32[(value >>> bits) & 31];
    }
    value &= 31;
  }
  return bits === 0 ? label : label + base32[(value << (5 - bits)) & 31];
}
