/**
 * Where a data item lies: gateways name the bundles it is in, and the bundles themselves, read from the chain with their
 * proofs, say where. Nobody's word is taken for it.
 */
import { measureBundleHeader, parseBundleHeader } from '../../formats/ans104/bundle-header.ts';
import { type ItemHeader, maxItemHeaderBytes, parseItemHeader } from '../../formats/ans104/item-header.ts';
import { isTxId } from '../../formats/base64url.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { ServiceClient } from '../service-client.ts';
import {
  type DataPlace,
  findTransaction,
  type NodeView,
  type ProvenTransaction,
  placeOf,
  readProven,
} from './chain-copy.ts';

/** Bundles in bundles are followed to this depth. */
const maxDepth = 32;
const maxBundleHeaderBytes = 64 * 1024 * 1024;

export interface FoundItem {
  /** The transaction first, then the bundles inside it down to the one that holds the item. */
  readonly bundles: readonly string[];
  readonly root: ProvenTransaction;
  readonly place: DataPlace;
  /** In the transaction's data. */
  readonly offset: number;
  readonly size: number;
  readonly header: ItemHeader;
}

/** Why an item cannot be found, for people. */
export class ItemLost extends Error {}

export async function findItem(
  views: readonly NodeView[],
  gateways: readonly string[],
  id: string,
): Promise<FoundItem> {
  const bundles = await bundlesOf(gateways, id);
  const [rootId] = bundles;
  if (rootId === undefined) throw new ItemLost('no gateway says in which bundle it is');
  const root = await findTransaction(views, rootId);
  if (root === undefined) throw new ItemLost(`no node knows ${rootId}, the bundle it is in`);
  const place = await placeOf(views, root);
  if (place === undefined)
    throw new ItemLost(`no node says where the data of ${rootId} lies: it may not be mined`);
  let [offset, size] = [0, place.size];
  for (const inner of [...bundles.slice(1), id]) {
    const entry = await entryOf(views, place, { offset, size }, inner);
    offset = entry.offset;
    size = entry.size;
    if (inner === id) return { bundles, root, place, offset, size, header: entry.header };
    // The payload of an item that is a bundle.
    offset += entry.header.length;
    size -= entry.header.length;
  }
  throw new ItemLost('it is not in the bundle that a gateway names');
}

/** The chain of bundles, outermost first, as the first gateway tells it that knows the item. */
async function bundlesOf(gateways: readonly string[], id: string): Promise<string[]> {
  for (const gateway of gateways) {
    const client = new ServiceClient('gateway', gateway, 20_000);
    const chain: string[] = [];
    for (let inner = id; chain.length <= maxDepth; ) {
      const parent = await parentOf(client, inner).catch(() => undefined);
      if (parent === undefined) break;
      chain.unshift(parent);
      inner = parent;
    }
    if (chain.length > 0 && chain.length <= maxDepth) return chain;
  }
  return [];
}

async function parentOf(client: ServiceClient, id: string): Promise<string | undefined> {
  const query = `query($id: ID!) { transaction(id: $id) { bundledIn { id } } }`;
  const { text } = await client.call('/graphql', { method: 'POST' }, { query, variables: { id } });
  const bundle = memberOf(
    memberOf(memberOf(memberOf(tryParseJson(text), 'data'), 'transaction'), 'bundledIn'),
    'id',
  );
  return typeof bundle === 'string' && isTxId(bundle) ? bundle : undefined;
}

interface Range {
  readonly offset: number;
  readonly size: number;
}

/** The item of this id among the entries of a bundle that lies there. */
async function entryOf(
  views: readonly NodeView[],
  place: DataPlace,
  bundle: Range,
  id: string,
): Promise<Range & { readonly header: ItemHeader }> {
  const read = async (from: number, to: number): Promise<Buffer> => {
    const bytes = await readProven(views, place, bundle.offset + from, bundle.offset + to);
    if (bytes === undefined) throw new ItemLost('no node has the part of the bundle that says where it is');
    return bytes;
  };
  // As it is on the chain: its writer may have broken rules that gateways forgive.
  const lenient = { lenient: true };
  const measured = measureBundleHeader(await read(0, Math.min(32, bundle.size)), bundle.size, lenient);
  if (typeof measured === 'string') throw new ItemLost(`what should be its bundle is none: ${measured}`);
  if (measured > maxBundleHeaderBytes)
    throw new ItemLost('the list of items of its bundle is too long to read');
  const header = parseBundleHeader(await read(0, measured), bundle.size, lenient);
  if (typeof header === 'string') throw new ItemLost(`what should be its bundle is none: ${header}`);
  for (let index = 0; index < header.wholeCount; index += 1) {
    if (header.id(index) !== id) continue;
    const [from = 0, size = 0] = [header.offsets[index], header.sizes[index]];
    const item = parseItemHeader(await read(from, from + Math.min(size, maxItemHeaderBytes)), lenient);
    if (typeof item === 'string') throw new ItemLost(`what lies there is no data item: ${item}`);
    if (item.id !== id) throw new ItemLost('what lies at its place has another signature');
    return { offset: bundle.offset + from, size, header: item };
  }
  throw new ItemLost('it is not in the bundle that a gateway names');
}
