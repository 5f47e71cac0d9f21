/** Blocks, then takes what is blocked out of every cache. It counts from the first step on. */
import { isTxId, type TxId } from '../../formats/base64url.ts';
import type { Logger } from '../../kernel/log.ts';
import type { AuditLine, Blocklist } from './blocklist.ts';
import type { BlockEntry } from './entries.ts';

/** The blocklist, the token of those who may change it, and what else a change is about. */
export interface Moderation {
  readonly blocklist: Blocklist;
  readonly token: string;
  readonly names: { resolve(label: string): Promise<{ readonly id: TxId }>; forget(label: string): void };
  readonly content: { purge(id: TxId): Promise<boolean> };
  readonly log: Logger;
}

export type BlockRequest = Omit<BlockEntry, 'blockedAt' | 'resolvedTxId'>;

export interface Blocked {
  readonly resolvedTxId?: string;
  readonly purgedFromCache: boolean;
}

/** Repeating it changes nothing. */
export async function blockContent(
  { blocklist, names, content, log }: Moderation,
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
