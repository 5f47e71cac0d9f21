/** What content a request means, below the name or id it was asked by. */
import type { TxId } from '../../formats/base64url.ts';
import { takeOver } from '../../kernel/http/send-bytes.ts';
import type { Reply } from '../../kernel/http/server.ts';
import type { ResolvedName } from '../names/resolver.ts';
import type { AccessPath, Headers } from './headers.ts';

export interface ContentRequest {
  readonly id: TxId;
  /** Below it, decoded. */
  readonly path: string;
  /** Whether the URL ends the id with a slash, so that relative links of a page lead below it. */
  readonly slash: boolean;
  /** Whether the URL names the id itself. */
  readonly byId: boolean;
  /** Without resolving manifests. */
  readonly raw: boolean;
  readonly name?: ResolvedName;
  /** Of the URL, with its question mark; '' where there is none. */
  readonly query: string;
}

export function accessPathOf({ id, byId, name }: ContentRequest): AccessPath {
  return { id, byId, ...(name === undefined ? {} : { name }) };
}

/** A relative location keeps the scheme the reader came with, whatever proxies are in between. */
export function redirect(reply: Reply, status: 301 | 302, location: string, headers: Headers): void {
  takeOver(reply, status, { ...headers, location, 'content-length': '0' }).end();
}

/** Where a manifest that was opened without a slash is sent, so that its relative links work. */
export function redirectToFolder(reply: Reply, { id, query }: ContentRequest): void {
  redirect(reply, 301, `/${id}/${query}`, { 'cache-control': 'public, max-age=3600' });
}
