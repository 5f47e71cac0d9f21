/**
 * Where an item lies in a chain transaction, as a gateway tells it and its own header proves: SHA-256 of the signature
 * that stands there is the id. A place that nobody proves would let any gateway close parts of other people's bundles.
 */
import { maxItemHeaderBytes, parseItemHeader } from '../../formats/ans104/item-header.ts';
import { isTxId } from '../../formats/base64url.ts';
import { lengthIn } from '../../outside/answer-head.ts';
import { discard, type Gateway, readBody } from '../gateways/gateway.ts';
import type { GatewaySet } from '../gateways/gateway-set.ts';
import type { EntryPlace } from '../moderation/entries.ts';
import { placementOf } from './placements.ts';

/** Gateways that are asked about one item. */
const maxAsked = 5;
const timeoutMs = 5_000;

export async function locateItem(gateways: GatewaySet, id: string): Promise<EntryPlace | undefined> {
  const asked = new Set([...gateways.verification, ...gateways.routing]);
  for (const gateway of [...asked].slice(0, maxAsked)) {
    const place = await placeAt(gateway, id).catch(() => undefined);
    if (place !== undefined) return place;
  }
  return undefined;
}

async function placeAt(gateway: Gateway, id: string): Promise<EntryPlace | undefined> {
  const head = await gateway.ask({ role: 'proof', method: 'HEAD', path: `/raw/${id}`, timeoutMs });
  discard(head);
  const told = head.status === 200 ? placementOf(head) : undefined;
  const root = told?.['x-ar-io-root-transaction-id'];
  const offset = told?.['x-ar-io-root-item-offset'] ?? told?.['x-ar-io-root-data-item-offset'];
  const size = lengthIn(head.headers);
  if (root === undefined || root === id || !isTxId(root) || offset === undefined || size === undefined) {
    return undefined;
  }
  const at = Number(offset);
  const range = `bytes=${at}-${at + maxItemHeaderBytes - 1}`;
  const answer = await gateway.ask({ role: 'proof', path: `/raw/${root}`, headers: { range }, timeoutMs });
  if (answer.status !== 206) {
    discard(answer);
    return undefined;
  }
  const header = parseItemHeader(await readBody(answer, maxItemHeaderBytes), { lenient: true });
  if (typeof header === 'string' || header.id !== id || size === 0) return undefined;
  const start = at + header.length;
  return { root, start, end: start + size };
}
