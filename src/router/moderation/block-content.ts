/** Blocks, then takes what is blocked out of every cache. It counts from the first step on. */
import { isTxId } from '../../formats/base64url.ts';
import type { RouterParts } from '../parts.ts';
import type { AuditLine, Blocklist } from './blocklist.ts';
import type { BlockType } from './entries.ts';

export interface BlockRequest {
  readonly type: BlockType;
  /** Canonical. */
  readonly value: string;
  readonly reason: string;
  readonly blockedBy: string;
}

export interface Blocked {
  readonly resolvedTxId?: string;
  readonly purgedFromCache: boolean;
}

/** Repeating it changes nothing. */
export async function blockContent(
  { names, content, log }: Pick<RouterParts, 'names' | 'content' | 'log'>,
  blocklist: Blocklist,
  { type, value, reason, blockedBy }: BlockRequest,
  source: AuditLine['source'],
): Promise<Blocked> {
  const entry = { type, value, reason, blockedAt: new Date().toISOString(), blockedBy };
  if (!(await blocklist.block(entry, source))) return { purgedFromCache: false };
  log.info({ type, value, blockedBy }, 'content blocked');
  if (type === 'txid') return { purgedFromCache: isTxId(value) && (await content.purge(value)) };
  // What the name shows now is blocked as well; where that cannot be found out, the name alone is.
  const target = await names.resolve(value).then(
    ({ id }) => id,
    () => undefined,
  );
  names.forget(value);
  if (target === undefined) return { purgedFromCache: false };
  await blocklist.block({ ...entry, resolvedTxId: target }, source);
  return { resolvedTxId: target, purgedFromCache: await content.purge(target) };
}
