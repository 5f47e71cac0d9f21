/** Blocks, then takes what is blocked out of every cache. It counts from the first step on. */
import type { Blocklist as AnyBlocklist } from '../../delivery/moderation/blocklist.ts';
import { isTxId, type TxId } from '../../formats/base64url.ts';
import type { Actor, AuditLog } from '../../kernel/audit-log.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Blocklist } from './blocklist.ts';
import type { BlockEntry } from './entries.ts';
import type { PlaceFinder } from './place-finder.ts';

/** The blocklist, the token of those who may change it, and what else a change is about. */
export interface Moderation {
  readonly blocklist: Blocklist;
  /** What is refused in all: this list, and those that are followed. */
  readonly all: AnyBlocklist;
  readonly places: PlaceFinder;
  readonly audit: AuditLog;
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
  { blocklist, places, names, content, log }: Moderation,
  { type, value, reason, blockedBy }: BlockRequest,
  actor: Actor,
): Promise<Blocked> {
  const entry = { type, value, reason, blockedAt: new Date().toISOString(), blockedBy };
  if (!(await blocklist.block(entry, actor))) return { purgedFromCache: false };
  log.info({ type, value, blockedBy }, 'content blocked');
  if (type === 'txid') {
    // Its bundle is a way to it too.
    await places.find(value);
    return { purgedFromCache: isTxId(value) && (await content.purge(value)) };
  }
  // What the name shows now is blocked as well; where that cannot be found out, the name alone is.
  const target = await names.resolve(value).then(
    ({ id }) => id,
    () => undefined,
  );
  names.forget(value);
  if (target === undefined) return { purgedFromCache: false };
  await blocklist.block({ ...entry, resolvedTxId: target }, actor);
  await places.find(target);
  return { resolvedTxId: target, purgedFromCache: await content.purge(target) };
}
