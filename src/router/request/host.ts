/**
 * What the host of a request stands for. Management routes live on the root host only: a host below it belongs
 * to a name or to the sandbox of one id, with its whole path space.
 */
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isSandboxLabel } from '../../formats/sandbox-label.ts';

export type Host =
  /** `hasSubdomains`: sandboxes can stand before this host. */
  | { readonly kind: 'root'; readonly authority: string; readonly hasSubdomains: boolean }
  | { readonly kind: 'name'; readonly label: string; readonly rootAuthority: string }
  | { readonly kind: 'sandbox'; readonly label: string; readonly rootAuthority: string }
  | { readonly kind: 'unknown' };

export interface HostRules {
  /** Lower case, without port. */
  readonly baseDomain: string;
  readonly allowUnknownHosts: boolean;
}

const authority = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]{1,253})(?::([0-9]{1,5}))?$/;
const nameLabel = /^[a-z0-9_-]{1,63}$/;
/** A longer label without an undername is no name. */
const maxNameLength = 51;

export function parseHost(header: string | undefined, rules: HostRules): Host {
  const match = authority.exec(asciiLowerCase(header ?? ''));
  if (match === null) return { kind: 'unknown' };
  const host = (match[1] ?? '').replace(/\.$/, '');
  // A dot alone is nobody's name.
  if (host === '') return { kind: 'unknown' };
  const port = match[2] === undefined ? '' : `:${match[2]}`;
  const { baseDomain } = rules;
  if (host === baseDomain || host === `www.${baseDomain}`) {
    return { kind: 'root', authority: baseDomain + port, hasSubdomains: isIP(baseDomain) === 0 };
  }
  if (host.endsWith(`.${baseDomain}`)) {
    const label = host.slice(0, -baseDomain.length - 1);
    const rootAuthority = baseDomain + port;
    if (isSandboxLabel(label)) return { kind: 'sandbox', label, rootAuthority };
    const isName = nameLabel.test(label) && (label.length <= maxNameLength || label.includes('_'));
    return isName ? { kind: 'name', label, rootAuthority } : { kind: 'unknown' };
  }
  // An address reaches the router where no domain leads to it: health checks, one machine, containers.
  const bare = isIP(host.replace(/^\[|\]$/g, '')) !== 0 || host === 'localhost';
  const known = bare || rules.allowUnknownHosts || baseDomain === 'localhost';
  return known ? { kind: 'root', authority: host + port, hasSubdomains: false } : { kind: 'unknown' };
}

/** The same with the hosts seen last remembered: readers come back to a few. */
export function hostParser(rules: HostRules): (header: string | undefined) => Host {
  const seen = new LRUCache<string, Host>({ max: 1_000 });
  return (header = '') => {
    const known = seen.get(header);
    if (known !== undefined) return known;
    const host = parseHost(header, rules);
    if (header.length <= 300) seen.set(header, host);
    return host;
  };
}
