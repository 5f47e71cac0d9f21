/**
 * Items that are announced before they are on the chain, by the upload surface or an operator. They are searchable at
 * once, without block and bundle, and upgraded when their bundle is read; the announcement is never believed over
 * what was signed.
 */
import { hash } from 'node:crypto';
import { isTxId, tryDecodeBase64url } from '../../formats/base64url.ts';
import { whileNothingMoves } from '../chain-index/history.ts';
import { DATA_ITEM } from '../chain-index/order.ts';
import { WRITE_BATCH } from '../chain-index/posting-changes.ts';
import type { Entry, Header } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { RawTag } from '../chain-index/tags.ts';

/** An announced header as it travels: binary fields base64url, tag names and values too. */
export interface AnnouncedItem {
  readonly id: string;
  readonly owner: string;
  readonly owner_address: string;
  readonly signature: string;
  readonly data_size: number;
  readonly target?: string;
  readonly anchor?: string;
  readonly content_type?: string;
  readonly signature_type?: number;
  readonly tags?: readonly { readonly name: string; readonly value: string }[];
}

const lengthsOfTypes = new Map([
  ['512/512', 1],
  ['64/32', 2],
  ['65/65', 3],
  ['2052/1025', 6],
  ['65/42', 7],
]);

/**
 * Reads one announcement; undefined when it is not one. Nothing in it is proven, so of it only what fits together is
 * kept: a signature where its hash is the id, and the address that the key has, whatever is stated.
 */
export function parseAnnounced(item: AnnouncedItem): Header | undefined {
  const signature = tryDecodeBase64url(item.signature);
  const ownerKey = tryDecodeBase64url(item.owner);
  if (signature === undefined || ownerKey === undefined || signature.length === 0 || ownerKey.length === 0)
    return undefined;
  if (!isTxId(item.id)) return undefined;
  if (!Number.isSafeInteger(item.data_size) || item.data_size < 0) return undefined;
  const target = optionalBytes(item.target);
  const anchor = optionalBytes(item.anchor);
  const tags = parseTags(item);
  if (target === undefined || anchor === undefined || tags === undefined) return undefined;
  return {
    id: Buffer.from(item.id, 'base64url'),
    kind: DATA_ITEM,
    ownerKey,
    ownerAddress: hash('sha256', ownerKey, 'buffer'),
    signature: hash('sha256', signature, 'base64url') === item.id ? signature : null,
    signatureType: item.signature_type ?? lengthsOfTypes.get(`${signature.length}/${ownerKey.length}`) ?? 0,
    format: 0,
    target,
    anchor,
    quantity: '0',
    reward: '0',
    denomination: 0,
    dataSize: item.data_size,
    dataRoot: null,
    tags,
  };
}

/** Makes announced items searchable; those already known are left as they are. Answers how many are new. */
export async function indexAnnounced(index: SqlGatewayIndex, headers: readonly Header[]): Promise<number> {
  const distinct = [...new Map(headers.map((header) => [header.id.toString('latin1'), header])).values()];
  let fresh = 0;
  for (let at = 0; at < distinct.length; at += WRITE_BATCH) {
    const batch = distinct.slice(at, at + WRITE_BATCH).map(announcedEntry);
    const written = await whileNothingMoves(async () => {
      const prepared = await index.writer.prepare(batch);
      return index.sql.transaction((tx) => index.writer.put(tx, prepared));
    });
    fresh += written.filter((one) => one.fresh).length;
  }
  return fresh;
}

function announcedEntry(header: Header): Entry {
  return { header, mined: undefined, placed: undefined, bundle: undefined, hash: undefined, verified: false };
}

/** null where there is none, undefined where it is not 32 bytes. */
function optionalBytes(text: string | undefined): Buffer | null | undefined {
  if (text === undefined || text === '') return null;
  const bytes = tryDecodeBase64url(text);
  return bytes !== undefined && bytes.length > 0 && bytes.length <= 32 ? bytes : undefined;
}

function parseTags(item: AnnouncedItem): RawTag[] | undefined {
  const tags: RawTag[] = [];
  for (const tag of item.tags ?? []) {
    const name = tryDecodeBase64url(tag.name);
    const value = tryDecodeBase64url(tag.value);
    if (name === undefined || value === undefined) return undefined;
    tags.push({ name, value });
  }
  const isTyped = tags.some(
    ({ name }) => Buffer.from(name).toString('latin1').toLowerCase() === 'content-type',
  );
  if (item.content_type !== undefined && item.tags === undefined && !isTyped) {
    tags.push({ name: Buffer.from('Content-Type'), value: Buffer.from(item.content_type) });
  }
  return tags;
}
