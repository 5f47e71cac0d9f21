/** What is said about content beside its bytes, with true values: a header that is not known is not sent. */
import { withCharset } from '../../../formats/media-type.ts';
import { forkHeader } from '../../../outside/fork-header.ts';
import type { Located, Proof } from '../../chain-index/gateway-index.ts';
import type { ResolvedTarget } from '../names/resolver.ts';
import type { Described } from '../opened.ts';

export type Headers = Record<string, string | string[]>;

const maxTags = 100;
const maxTagBytes = 8_192;

/** Every answer asks, and to read a media type is a good part of a small one. */
const contentTypes = new WeakMap<Described, string>();

/** First tag `Content-Type`, cleaned of what may not stand in a header, with the charset that text is read in. */
export function contentTypeOf(described: Described): string {
  const known = contentTypes.get(described);
  if (known !== undefined) return known;
  const clean = headerText(described.contentType ?? '').trim();
  const type = clean === '' ? 'application/octet-stream' : withCharset(clean.slice(0, 255));
  contentTypes.set(described, type);
  return type;
}

/** Facts of the index: size, place, stability, owner, tags. They hold for every answer about the id. */
export function describingHeaders(described: Described, proof: Proof | undefined): Headers {
  const { located } = described;
  const headers: Headers = {
    'x-ar-io-data-id': described.id,
    'x-ar-io-stable': String(described.stable),
  };
  if (described.hash !== undefined) headers['x-ar-io-digest'] = described.hash;
  if (described.fork !== undefined) headers[forkHeader] = described.fork;
  const encoding = headerText(described.contentEncoding ?? '').trim();
  if (encoding !== '') headers['content-encoding'] = encoding.slice(0, 255);
  if (located === undefined) return headers;

  if (located.isPruned !== true) addSigned(headers, located, proof);
  const { placement } = located;
  if (placement === undefined) return headers;
  headers['x-ar-io-root-transaction-id'] = placement.root;
  if (placement.parent === placement.root) headers['x-ar-io-root-path'] = placement.root;
  headers['x-ar-io-root-data-item-offset'] = String(placement.itemOffsetInRoot);
  headers['x-ar-io-root-item-offset'] = String(placement.itemOffsetInRoot);
  headers['x-ar-io-root-data-offset'] = String(placement.dataOffsetInRoot);
  headers['x-ar-io-root-item-size'] = String(placement.itemSize);
  headers['x-ar-io-data-item-size'] = String(placement.itemSize);
  headers['x-ar-io-data-item-root-parent-offset'] = String(placement.parentOffsetInRoot);
  headers['x-ar-io-data-item-offset'] = String(placement.itemOffset);
  headers['x-ar-io-data-item-data-offset'] = String(placement.dataOffset);
  return headers;
}

/** What the signed header says. */
function addSigned(headers: Headers, located: Located, proof: Proof | undefined): void {
  headers['x-arweave-owner-address'] = located.ownerAddress;
  headers['x-arweave-signature-type'] = String(located.signatureType);
  if (located.target !== '') headers['x-arweave-target'] = located.target;
  if (located.anchor !== '') headers['x-arweave-anchor'] = located.anchor;
  if (proof !== undefined) {
    headers['x-arweave-signature'] = proof.signature;
    if (proof.owner !== '') headers['x-arweave-owner'] = proof.owner;
  }
  addTags(headers, located.tags);
}

function addTags(headers: Headers, tags: readonly { readonly name: string; readonly value: string }[]): void {
  headers['x-arweave-tag-count'] = String(tags.length);
  let bytes = 0;
  let count = 0;
  for (const tag of tags) {
    const name = tagHeaderName(tag.name);
    const value = headerText(tag.value).slice(0, 4_096);
    bytes += name.length + value.length;
    count += 1;
    if (count > maxTags || bytes > maxTagBytes) {
      headers['x-arweave-tags-truncated'] = 'true';
      return;
    }
    // A tag called `Count` would stand beside the number of them, under its name.
    if (name === '' || name === 'count') continue;
    const key = `x-arweave-tag-${name}`;
    const before = headers[key];
    headers[key] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
}

function tagHeaderName(name: string): string {
  return name
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/-{2,}/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 128)
    .toLowerCase();
}

/** Latin-1 without control characters: anything else may not stand in a header. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e\xa0-\xff]/g, '');
}

/** How the name in the host was resolved. */
export function nameHeaders(label: string, name: string, undername: string, target: ResolvedTarget): Headers {
  const headers: Headers = {
    'x-arns-name': label,
    'x-arns-basename': name,
    'x-arns-record': undername,
    'x-arns-resolved-id': target.id,
    'x-arns-ttl-seconds': String(target.ttlSeconds),
    'x-arns-resolved-at': String(target.resolvedAt),
    'x-arns-process-id': target.antId,
    'x-arns-ant-id': target.antId,
    'x-arns-protocol': 'arweave',
  };
  if (target.fork !== undefined) headers[forkHeader] = target.fork;
  if (target.antProgramId !== undefined) headers['x-arns-ant-program-id'] = target.antProgramId;
  if (target.undernameLimit !== undefined && target.recordIndex !== undefined) {
    headers['x-arns-undername-limit'] = String(target.undernameLimit);
    headers['x-arns-record-index'] = String(target.recordIndex);
  }
  return headers;
}

/** RFC 9530. */
export function digestHeader(hash: string): string {
  return `sha-256=:${Buffer.from(hash, 'base64url').toString('base64')}:`;
}
