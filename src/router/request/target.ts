/** What the path of a request asks for, on whichever host it came. */

import type { WebOrigin } from '../../delivery/isolation.ts';
import { isTxId, type TxId } from '../../formats/base64url.ts';
import { tryDecodePercent } from '../../formats/percent-encoding.ts';
import { sandboxLabel } from '../../formats/sandbox-label.ts';
import { badId, badRequest, notFound, rootHostOnly } from '../errors.ts';
import type { Host } from './host.ts';

export type Target =
  /** Content below an id. `path` is decoded, without the slash after the id; `slash` says whether there was one. */
  | {
      readonly kind: 'id';
      readonly id: TxId;
      readonly path: string;
      readonly slash: boolean;
      /** Whether the URL itself names the id, so that what it shows never changes. */
      readonly byId: boolean;
      readonly origin: WebOrigin;
    }
  | { readonly kind: 'raw'; readonly id: TxId; readonly origin: WebOrigin }
  | { readonly kind: 'name'; readonly label: string; readonly path: string }
  /** To the origin that belongs to the id alone; `pagesOnly`: others are answered in place. */
  | {
      readonly kind: 'sandbox-redirect';
      readonly authority: string;
      readonly id: TxId;
      readonly pagesOnly: boolean;
    }
  | {
      readonly kind: 'chain';
      /** Of the transaction that is read. */
      readonly id: TxId | undefined;
      /** The data itself is asked for, or what may carry it. */
      readonly data?: 'whole' | 'perhaps' | undefined;
      /** Weave offset of the chunk that is read. */
      readonly chunk?: string | undefined;
    }
  | { readonly kind: 'graphql' }
  | { readonly kind: 'self' };

export interface TargetRules {
  /** An id or a name. */
  readonly rootContent: string | undefined;
  readonly restrictToRoot: boolean;
  readonly chainReads: boolean;
  /** Whether content that has no host of its own is kept apart from the host it is read at. */
  readonly isolate: boolean;
}

const idFirst = /^\/([A-Za-z0-9_-]{43})(?=\/|$)/;
const rawId = /^\/raw\/([A-Za-z0-9_-]{43})\/?$/;

/** `opensPage`: whether a browser shows the answer as a page, when it is read at a root host. */
export function parseTarget(
  host: Host,
  pathname: string,
  rules: TargetRules,
  opensPage: (rootHost: string) => boolean = () => false,
): Target {
  if (host.kind === 'unknown') throw notFound(pathname);
  if (host.kind !== 'root') {
    if (rules.restrictToRoot) throw rootHostOnly();
    const id = leadingId(pathname);
    if (id !== undefined) {
      if (host.kind !== 'sandbox' || sandboxLabel(id) !== host.label) {
        return { kind: 'sandbox-redirect', authority: host.rootAuthority, id, pagesOnly: false };
      }
      return below(id, pathname, 'own');
    }
    if (host.kind === 'sandbox') throw notFound(pathname);
    return { kind: 'name', label: host.label, path: decodePath(pathname.slice(1)) };
  }
  if (rules.restrictToRoot) return rootTarget(pathname, rules) ?? failRestricted();
  const raw = rawId.exec(pathname)?.[1];
  const origin = rules.isolate ? 'shared' : 'own';
  if (raw !== undefined) return { kind: 'raw', id: checkId(raw), origin };
  const id = leadingId(pathname);
  if (id !== undefined) {
    const { authority } = host;
    if (!host.hasSubdomains) return below(id, pathname, origin);
    // What is not kept apart in place has its origin by its host alone, which not every resolver finds below localhost.
    if (!rules.isolate) {
      if (isLocal(authority)) return below(id, pathname, 'own');
      return { kind: 'sandbox-redirect', authority, id, pagesOnly: false };
    }
    if (!opensPage(authority)) return below(id, pathname, 'shared-without-pages');
    return { kind: 'sandbox-redirect', authority, id, pagesOnly: true };
  }
  const root = rootTarget(pathname, rules);
  if (root !== undefined) return root;
  if (pathname === '/graphql') return { kind: 'graphql' };
  if (rules.chainReads && isChainRead(pathname)) return chainRead(pathname);
  if (pathname === '/') return { kind: 'self' };
  throw notFound(pathname);
}

function isLocal(authority: string): boolean {
  return /^localhost(:|$)/.test(authority);
}

function rootTarget(pathname: string, { rootContent }: TargetRules): Target | undefined {
  if (rootContent === undefined) return undefined;
  const path = decodePath(pathname.slice(1));
  // The operator chose it for the root host, which is as good as its own.
  if (isTxId(rootContent)) {
    return { kind: 'id', id: rootContent, path, slash: true, byId: false, origin: 'own' };
  }
  return { kind: 'name', label: rootContent, path };
}

function failRestricted(): never {
  throw rootHostOnly();
}

function below(id: TxId, pathname: string, origin: WebOrigin): Target {
  const rest = pathname.slice(44);
  return { kind: 'id', id, path: decodePath(rest.slice(1)), slash: rest !== '', byId: true, origin };
}

function leadingId(pathname: string): TxId | undefined {
  const text = idFirst.exec(pathname)?.[1];
  return text === undefined ? undefined : checkId(text);
}

/** 43 characters that no id is written with would be another spelling of one: a way around every list. */
function checkId(text: string): TxId {
  if (!isTxId(text)) throw badId(text);
  return text;
}

/** Decoded once; manifests are looked up with what the reader meant. */
function decodePath(path: string): string {
  const decoded = tryDecodePercent(path);
  if (decoded === undefined) throw badRequest('Malformed percent-encoding in path');
  return decoded;
}

const chainReads = [
  /^\/(?:info|peers|height|tx_anchor|current_block|tx\/pending)$/,
  /^\/tx\/[A-Za-z0-9_-]{43}(?:\/(?:status|offset|data|id|last_tx|owner|tags|target|quantity|data_size|data_root|signature|reward))?$/,
  /^\/wallet\/[A-Za-z0-9_-]{43}\/(?:balance|last_tx)$/,
  /^\/price\/[0-9]{1,16}(?:\/(?:[A-Za-z0-9_-]{43}|target))?$/,
  /^\/block\/(?:current|hash\/[A-Za-z0-9_-]{64}|height\/[0-9]{1,16})$/,
  /^\/chunk\/[0-9]{1,20}(?:\/data)?$/,
];

function chainRead(pathname: string): Target {
  const [, id, below] = /^\/tx\/([^/]{43})(\/[^/]*)?$/.exec(pathname) ?? [];
  const chunk = /^\/chunk\/([0-9]+)(?:\/data)?$/.exec(pathname)?.[1];
  if (id === undefined) return { kind: 'chain', id, ...(chunk !== undefined && { chunk }) };
  // The JSON of a transaction of the first format has its data in it.
  const data = below === '/data' ? 'whole' : below === undefined ? 'perhaps' : undefined;
  return { kind: 'chain', id: checkId(id), ...(data !== undefined && { data }) };
}

function isChainRead(pathname: string): boolean {
  return chainReads.some((pattern) => pattern.test(pathname));
}
