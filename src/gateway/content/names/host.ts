/**
 * What a request's host asks for (interface §4.4; hosts below a root host belong to a name or to the sandbox of
 * one id, their whole path space too).
 */
import { asciiLowerCase } from '../../../formats/ascii-case.ts';
import { isSandboxLabel } from '../../../formats/sandbox-label.ts';

export type HostKind =
  /** The gateway itself. `rootHost` is the configured one that matched, with the port the client used. */
  | { readonly kind: 'root'; readonly rootHost: string | undefined }
  | { readonly kind: 'name'; readonly label: string; readonly rootHost: string }
  | { readonly kind: 'sandbox'; readonly label: string; readonly rootHost: string }
  /** More than one label below a root host, or no host at all: nobody is there. */
  | { readonly kind: 'nobody' };

const nameLabel = /^[a-z0-9_-]{1,63}$/;
/** A longer label without an undername is no name. */
const maxNameLength = 51;

/** `rootHosts` are lower case, without port, longest first. */
export function parseHost(header: string | undefined, rootHosts: readonly string[]): HostKind {
  const text = asciiLowerCase(header ?? '');
  const colon = text.lastIndexOf(':');
  const hasPort = colon > text.lastIndexOf(']');
  const host = (hasPort ? text.slice(0, colon) : text).replace(/\.$/, '');
  const port = hasPort ? text.slice(colon).replace(/^:$/, '') : '';
  // It goes into redirects: `host:80@elsewhere` is another host.
  if (!/^(?::[0-9]{1,5})?$/.test(port)) return { kind: 'nobody' };
  for (const rootHost of rootHosts) {
    if (host === rootHost || host === `www.${rootHost}`) return { kind: 'root', rootHost: rootHost + port };
    if (!host.endsWith(`.${rootHost}`)) continue;
    const label = host.slice(0, -rootHost.length - 1);
    if (isSandboxLabel(label)) return { kind: 'sandbox', label, rootHost: rootHost + port };
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
