/** The block list on the routes that pass on a node's bytes: what is not served as content is not served there either. */
import type { Span } from '../../kernel/http/byte-ranges.ts';
import { blocked } from '../errors.ts';
import type { ChainReadsDeps } from './answers.ts';

/** Throws 451 where the id, its content, or a blocked item in the asked bytes (all, where none are named) is blocked. */
export async function refuseBlockedBytes(
  { blocklist, index, contentHash }: ChainReadsDeps,
  id: string,
  asked?: Span,
): Promise<void> {
  if (blocklist.blocksId(id)) throw blocked(id);
  const located = await index.locate(id);
  // A copy that nobody has hashed is no way around: it is read to its end first, as on the content routes.
  const isUnread = located?.hash === undefined && blocklist.wantsHashes && located?.height !== undefined;
  const hash = isUnread ? await contentHash(id) : located?.hash;
  if (hash !== undefined && blocklist.blocksHash(hash)) throw blocked(id);
  if (located === undefined) return;
  const start = located.placement?.dataOffsetInRoot ?? 0;
  const content = { start, end: start + located.size };
  const part = blocklist.blockedPart(located.placement?.root ?? id, content, asked ?? content, id);
  if (part !== undefined) throw blocked(part);
}
