/** What content a request means, below the name or id it was asked by. */
import type { ManifestHit } from '../../formats/manifest/manifest.ts';
import { takeOver } from '../../kernel/http/send-bytes.ts';
import type { Reply } from '../../kernel/http/server.ts';
import type { AccessPath, Headers } from './headers.ts';

export interface ContentRequest extends AccessPath {
  /** Below the id, decoded. */
  readonly path: string;
  /** Whether the URL ends the id with a slash, so that relative links of a page lead below it. */
  readonly slash: boolean;
  /** Without resolving manifests. */
  readonly raw: boolean;
  /** Of the URL, with its question mark; '' where there is none. */
  readonly query: string;
}

/** What is reached by a path of the manifest that was asked for. */
export function inManifest(asked: ContentRequest, { id, by }: ManifestHit): AccessPath {
  return { ...asked, id, manifestId: asked.id, byFallback: by === 'fallback' };
}

/** A relative location keeps the scheme the reader came with, whatever proxies are in between. */
export function redirect(reply: Reply, status: 301 | 302, location: string, headers: Headers): void {
  takeOver(reply, status, { ...headers, location, 'content-length': '0' }).end();
}

/** Where a manifest that was opened without a slash is sent, so that its relative links work. */
export function redirectToFolder(reply: Reply, { id, query }: ContentRequest): void {
  redirect(reply, 301, `/${id}/${query}`, { 'cache-control': 'public, max-age=3600' });
}
