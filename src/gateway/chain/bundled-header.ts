/** The record of a pruned item as its transaction's JSON: its own signed header lies before its bytes in the bundle. */
import { parseItemHeader } from '../../formats/ans104/item-header.ts';
import { readLimited } from '../../outside/http.ts';
import type { Located } from '../chain-index/gateway-index.ts';
import { itemJson } from '../chain-index/item-json.ts';
import type { ByteSource } from './byte-source.ts';

/** No item's header is longer. */
const maxHeaderBytes = 1024 * 1024;

/** undefined where the bundle cannot be had, or holds another item there. */
export async function bundledItemJson(
  bytes: ByteSource,
  located: Located,
): Promise<Record<string, unknown> | undefined> {
  const { id, placement } = located;
  if (placement === undefined) return undefined;
  const { root, itemOffsetInRoot: start, dataOffsetInRoot: end } = placement;
  if (end - start > maxHeaderBytes) return undefined;
  const opened = await bytes.stream(root, { start, end });
  if (opened === undefined) return undefined;
  const header = parseItemHeader(await readLimited(opened.stream, maxHeaderBytes), { lenient: true });
  // The id is the hash of the signature: no other item passes for this one.
  if (typeof header === 'string' || header.id !== id) return undefined;
  const { ownerAddress, signatureType, tags } = header;
  const target = header.target?.toString('base64url') ?? '';
  const anchor = header.anchor?.toString('base64url') ?? '';
  return itemJson(
    { ...located, ownerAddress, signatureType, target, anchor, tags },
    { signature: header.signature.toString('base64url'), owner: header.owner.toString('base64url') },
  );
}
