/** The block list on the routes that pass on a node's bytes: what is not served as content is not served there either. */
import type { GatewayContext } from '../context.ts';
import type { Span } from '../data/blocklist.ts';
import { blocked } from '../errors.ts';

/** Throws 451 where the id, its content, or a blocked item in the asked bytes (all, where none are named) is blocked. */
export async function refuseBlockedBytes(
  { blocklist, index }: GatewayContext,
  id: string,
  asked?: Span,
): Promise<void> {
  if (blocklist === undefined) return;
  if (blocklist.blocksId(id)) throw blocked(id);
  const located = await index.locate(id);
  if (located === undefined) return;
  if (located.hash !== undefined && blocklist.blocksHash(located.hash)) throw blocked(id);
  const start = located.placement?.dataOffsetInRoot ?? 0;
  const content = { start, end: start + located.size };
  const part = blocklist.blockedPart(located.placement?.root ?? id, content, asked ?? content, id);
  if (part !== undefined) throw blocked(part);
}
