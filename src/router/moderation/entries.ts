/** The blocklist as a document: what an entry is, and reading one strictly. */
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isTxId } from '../../formats/base64url.ts';
import { isCount, memberOf, textOf } from '../../formats/json.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';

export type BlockType = 'arns' | 'txid';

export interface BlockEntry {
  readonly type: BlockType;
  /** Names in lower case. */
  readonly value: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly blockedAt: string;
  readonly blockedBy: string;
  /** What a name pointed at when it was blocked; blocked as well. */
  readonly resolvedTxId?: string;
  /** Where the blocked item lies in a chain transaction, once a gateway told it. */
  readonly place?: EntryPlace;
}

/** Bytes of the item in the data of the chain transaction `root`. */
export interface EntryPlace extends Span {
  readonly root: string;
}

/** The id that an entry blocks: of a name what it showed. */
export function idOf({ type, value, resolvedTxId }: BlockEntry): string | undefined {
  return type === 'txid' ? value : resolvedTxId;
}

export const maxReasonLength = 1_024;
export const maxActorLength = 256;
const nameLabel = /^[a-z0-9_-]{1,63}$/;

export function isBlockType(value: unknown): value is BlockType {
  return value === 'arns' || value === 'txid';
}

/** The value as it is compared, or undefined where it is no name or id. */
export function canonicalValue(type: BlockType, value: string): string | undefined {
  if (type === 'txid') return isTxId(value) ? value : undefined;
  const name = asciiLowerCase(value);
  return nameLabel.test(name) ? name : undefined;
}

/** Every entry of a document, or an error about the first that is wrong: a list is taken whole or not at all. */
export function parseBlocklist(text: string): BlockEntry[] {
  const document: unknown = JSON.parse(text);
  const entries = memberOf(document, 'entries');
  if (!Array.isArray(entries)) throw new Error('a blocklist is {"version": 1, "entries": […]}');
  return entries.map((entry: unknown, index) => parseEntry(entry, index));
}

function parseEntry(entry: unknown, index: number): BlockEntry {
  const fail = (what: string): never => {
    throw new Error(`entry ${index + 1} of the blocklist ${what}`);
  };
  const type = memberOf(entry, 'type');
  const given = memberOf(entry, 'value');
  if (!isBlockType(type)) return fail("has a type other than 'arns' and 'txid'");
  const value = typeof given === 'string' ? canonicalValue(type, given) : undefined;
  if (value === undefined) return fail(type === 'arns' ? 'has no name as value' : 'has no id as value');
  const resolved = memberOf(entry, 'resolvedTxId');
  if (resolved !== undefined && (typeof resolved !== 'string' || !isTxId(resolved))) {
    return fail('has a resolvedTxId that is no id');
  }
  const place = readPlace(memberOf(entry, 'place'));
  if (place === undefined && memberOf(entry, 'place') !== undefined) return fail('has a place that is none');
  return {
    type,
    value,
    reason: textOf(entry, 'reason', maxReasonLength) ?? '',
    blockedAt: textOf(entry, 'blockedAt', maxReasonLength) ?? new Date(0).toISOString(),
    blockedBy: textOf(entry, 'blockedBy', maxReasonLength) ?? 'file',
    ...(typeof resolved === 'string' ? { resolvedTxId: resolved } : {}),
    ...(place === undefined ? {} : { place }),
  };
}

function readPlace(value: unknown): EntryPlace | undefined {
  const root = textOf(value, 'root');
  const [start, end] = [memberOf(value, 'start'), memberOf(value, 'end')];
  if (root === undefined || !isTxId(root) || !isCount(start) || !isCount(end) || end <= start)
    return undefined;
  return { root, start, end };
}

export function blocklistText(entries: readonly BlockEntry[], updatedAt: string): string {
  return `${JSON.stringify({ version: 1, updatedAt, entries }, null, 2)}\n`;
}
