/** What an answer says beside its bytes, from what the router itself knows. */
import { LRUCache } from 'lru-cache';
import { isolate, type WebOrigin } from '../../delivery/isolation.ts';
import type { TxId } from '../../formats/base64url.ts';
import { withCharset } from '../../formats/media-type.ts';
import { atMost } from '../../kernel/at-most.ts';
import { strongETag } from '../../kernel/http/conditional.ts';
import type { ResolvedName } from '../names/resolver.ts';
import type { Opened } from './opened.ts';

export type Headers = Record<string, string>;

/** How a reader came to the content; never stored with it. */
export interface AccessPath {
  readonly id: TxId;
  readonly name?: ResolvedName;
  readonly manifestId?: TxId;
  readonly byFallback?: boolean;
  /** Whether the URL names the id, so that what it shows can never change. */
  readonly byId: boolean;
  /** Whose the host is that it is read at. */
  readonly origin: WebOrigin;
}

/** A hosted page may be embedded anywhere; what it is, is not for browsers to guess. */
export const contentSafety: Readonly<Headers> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'cross-origin',
  'origin-agent-cluster': '?1',
};

/** RFC 9110 §8.4. */
const codings = /^[a-z0-9-]{1,32}(?: ?, ?[a-z0-9-]{1,32}){0,7}$/i;

interface DigestForms {
  readonly etag: string;
  /** base64url, as gateways tell it. */
  readonly digest: string;
  /** RFC 9530. */
  readonly standard: string;
}

/** The same content is asked for again and again. */
const forms = new LRUCache<string, DigestForms>(atMost(10_000));

function digestForms(hex: string): DigestForms {
  const known = forms.get(hex);
  if (known !== undefined) return known;
  const bytes = Buffer.from(hex, 'hex');
  const digest = bytes.toString('base64url');
  const made = { etag: strongETag(digest), digest, standard: `sha-256=:${bytes.toString('base64')}:` };
  forms.set(hex, made);
  return made;
}

export function describe(opened: Opened, accessPath: AccessPath): Headers {
  const verified = opened.verified ?? true;
  const headers: Headers = {
    ...contentSafety,
    'content-type': servedType(opened),
    'accept-ranges': 'bytes',
    // What is only said about content is not to be kept for as long as the content.
    'cache-control': verified ? cacheControl(accessPath) : 'no-store',
    'x-cache': opened.from === 'cache' ? 'HIT' : 'MISS',
    'x-router-mode': 'proxy',
    'x-router-verified': verified ? 'true' : 'false',
    'x-router-routed-via': opened.from,
    'x-router-txid': accessPath.id,
    'x-ar-io-data-id': accessPath.id,
    ...opened.placement,
  };
  // Anybody may have signed anything as a tag: what no client can understand is left out.
  if (opened.contentEncoding !== undefined && codings.test(opened.contentEncoding)) {
    headers['content-encoding'] = opened.contentEncoding;
  }
  if (verified) {
    headers['x-router-verification-method'] = opened.method;
    if (opened.by.length > 0) headers['x-router-verified-by'] = opened.by.join(', ');
    const { verificationMs } = opened;
    if (verificationMs !== undefined) headers['x-router-verification-time-ms'] = verificationMs.toFixed();
  }
  if (opened.from === 'cache') {
    headers['x-router-cached'] = 'true';
    headers['x-router-cache-age'] = cacheAge(opened.verifiedAt);
  }
  if (opened.digest !== undefined) {
    const { etag, digest, standard } = digestForms(opened.digest);
    headers.etag = etag;
    headers['x-ar-io-digest'] = digest;
    headers['repr-digest'] = standard;
  }
  addAccessPath(headers, accessPath);
  isolate(headers, opened.contentType, accessPath.origin);
  return headers;
}

/** With the charset that text is read in. */
export function servedType({ contentType }: Pick<Opened, 'contentType'>): string {
  return withCharset(contentType);
}

/** Milliseconds since it was proven. */
export function cacheAge(verifiedAt: number | undefined): string {
  const now = Date.now();
  return String(Math.max(0, now - (verifiedAt ?? now)));
}

export function addAccessPath(headers: Headers, { name, manifestId }: AccessPath): void {
  if (manifestId !== undefined) headers['x-router-manifest-txid'] = manifestId;
  if (name === undefined) return;
  headers['x-arns-name'] = name.label;
  headers['x-arns-resolved-id'] = name.id;
  headers['x-arns-ttl-seconds'] = String(name.ttlSeconds);
  headers['x-arns-resolved-at'] = String(name.resolvedAt);
  if (name.antId !== undefined) headers['x-arns-ant-id'] = name.antId;
  if (name.stale) headers['x-router-arns-stale'] = 'true';
}

/** By what the URL may show later: a name may move, a manifest's gap may not be one for ever after a fallback. */
export function cacheControl({ name, byFallback, byId }: AccessPath): string {
  if (byFallback === true) return 'public, max-age=60, must-revalidate';
  if (name !== undefined) return `public, max-age=${name.freshSeconds}, must-revalidate`;
  return byId ? 'public, max-age=31536000, immutable' : 'public, max-age=3600, must-revalidate';
}
