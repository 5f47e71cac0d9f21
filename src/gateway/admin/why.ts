/** Why an id is not in the index or not served: a block, a filter, a height, a bundle that was not read, an error. */
import {
  bundleCountBytes,
  bundleProblems,
  measureBundleHeader,
  parseBundleHeader,
} from '../../formats/ans104/bundle-header.ts';
import { maxItemHeaderBytes, parseItemHeader } from '../../formats/ans104/item-header.ts';
import type { BundleStatus, IdExplanation } from '../../formats/gateway-admin-answers.ts';
import { isCount, memberOf, tryParseJson } from '../../formats/json.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { GatewayContext } from '../chain/context.ts';
import type { Located } from '../chain-index/gateway-index.ts';
import type { Header } from '../chain-index/records.ts';
import { explainMismatch } from '../filters/explain.ts';
import type { Filters } from '../filters/filter.ts';
import { fetchTransaction } from '../import/fetch-block.ts';
import { readHeader } from '../import/queue-bundle.ts';
import { isBundle, subjectOf } from '../unbundle/bundle-tags.ts';
import { headerOfItem } from '../unbundle/read-bundle.ts';
import { bundleStatus } from '../unbundle/status.ts';
import type { BlockStore } from './moderation/block-store.ts';
import type { ReadPartOf } from './moderation/blocked-regions.ts';
import type { LiveBlocklist } from './moderation/live-blocklist.ts';

export interface WhyDeps extends Pick<GatewayContext, 'config' | 'index' | 'nodes'> {
  readonly filters: Filters;
  readonly blocklist: LiveBlocklist;
  readonly store: BlockStore;
  readonly readPart?: ReadPartOf | undefined;
}

/** Larger lists of items are not read for a question. */
const maxListBytes = 32 * 1024 * 1024;

/** `bundle` is where the id should be, as somebody says who knows. */
export async function explainId(
  deps: WhyDeps,
  id: string,
  bundle: string | undefined,
): Promise<IdExplanation> {
  const { index } = deps;
  const located = await index.locate(id);
  const own = await bundleStatus(index.sql, id);
  const sentences = [...(await blocks(deps, id, located)), ...whereItIs(located)];
  if (located === undefined) {
    if (own === undefined) sentences.push(...(await whyUnknown(deps, id, bundle)));
    else sentences.push('Its own header is not indexed.');
  }
  if (own !== undefined) sentences.push(...(await asBundle(deps, own)));
  const parent = bundle === undefined || bundle === id ? undefined : await bundleStatus(index.sql, bundle);
  return { id, indexed: located !== undefined, bundle: own ?? parent ?? null, why: sentences };
}

async function blocks(
  { blocklist, store }: WhyDeps,
  id: string,
  located: Located | undefined,
): Promise<string[]> {
  const isHash = located?.hash !== undefined && blocklist.blocksHash(located.hash);
  if (!blocklist.blocksId(id) && !isHash) return [];
  const { ids, hashes } = await store.load();
  const told = ids.find(({ what }) => what === id) ?? hashes.find(({ what }) => what === located?.hash);
  const reason = [told?.source, told?.notes].filter((text) => text !== undefined).join(': ');
  return [
    `It is blocked${isHash ? ' by the hash of its content' : ''}${reason === '' ? '' : ` (${reason})`}: it is answered 451.`,
  ];
}

function whereItIs(located: Located | undefined): string[] {
  if (located === undefined) return [];
  const { kind, height, placement, isPruned } = located;
  const what = kind === 'item' ? 'a data item' : 'a transaction';
  const where = placement === undefined ? '' : ` of bundle ${placement.parent}`;
  if (isPruned === true) {
    return [
      `It is ${what}${where} whose record was pruned: it is served by its id, and GraphQL does not show it. "turnpike admin queue-bundle ${placement?.root ?? located.id}" brings the record back.`,
    ];
  }
  if (height !== undefined) return [`It is indexed: ${what}${where} at height ${height}.`];
  return [`It is indexed: ${what}${where} that is not mined yet.`];
}

/** What became of it as a bundle. */
async function asBundle({ index, filters }: WhyDeps, status: BundleStatus): Promise<string[]> {
  const { id, state, dataItemCount, matchedDataItemCount, invalidDataItemCount, lastError, remark } = status;
  const again = `"turnpike admin queue-bundle ${id}"`;
  switch (state) {
    case 'queued':
    case 'running':
      return [
        `Bundle ${id} ${state === 'queued' ? 'waits to be read' : 'is being read'}${lastError ? `; the last try failed: ${lastError}` : ''}.`,
      ];
    case 'failed':
      return [`Bundle ${id} could not be read: ${lastError ?? 'it is not known why'}. ${again} tries again.`];
    case 'skipped': {
      const known = await readHeader(index, id);
      const part =
        known &&
        explainMismatch(filters.unbundle, subjectOf(known.header, textOf(known.parent), textOf(known.root)));
      const why =
        part === undefined
          ? 'an earlier ANS104_UNBUNDLE_FILTER kept it out'
          : `of ANS104_UNBUNDLE_FILTER, ${part}`;
      return [`Bundle ${id} was left unread: ${why}. ${again} reads it past the filter.`];
    }
    default: {
      const out = (dataItemCount ?? 0) - (matchedDataItemCount ?? 0) - (invalidDataItemCount ?? 0);
      const lost = [
        ...(invalidDataItemCount ? [`${invalidDataItemCount} were invalid`] : []),
        ...(out > 0 ? [`ANS104_INDEX_FILTER kept ${out} out, repeated ones among them`] : []),
        ...(remark ? [remark] : []),
      ];
      return [
        `Bundle ${id} was read: ${matchedDataItemCount ?? 0} of ${dataItemCount ?? 0} items are indexed${lost.length > 0 ? ` (${lost.join('; ')})` : ''}.`,
      ];
    }
  }
}

const textOf = (bytes: Buffer | undefined): string | undefined => bytes?.toString('base64url');

async function whyUnknown(deps: WhyDeps, id: string, bundle: string | undefined): Promise<string[]> {
  if (bundle !== undefined && bundle !== id) return whyNotInBundle(deps, id, bundle);
  try {
    const mined = await fetchTransaction(deps.nodes, id, 'tx', { lane: 'lookup' });
    if (mined !== undefined) return await whyNotImported(deps, id, mined);
    const waits = await fetchTransaction(deps.nodes, id, 'unconfirmed_tx', { lane: 'lookup' });
    if (waits !== undefined)
      return ['It is a transaction that waits to be mined; the gateway has not seen it yet.'];
  } catch (error) {
    return [`The index does not have it, and the nodes could not be asked: ${messageOf(error)}`];
  }
  return [
    'Neither the index nor a node has it: it is an item of a bundle that was not read, or nothing at all. Name the bundle that it should be in ("--bundle <id>") to learn what kept it out.',
  ];
}

/** Of a transaction that the nodes have. */
async function whyNotImported(
  { config, index, nodes, filters }: WhyDeps,
  id: string,
  header: Header,
): Promise<string[]> {
  const { body } = await nodes.get(`/tx/${id}/status`, { lane: 'lookup' });
  const height = memberOf(tryParseJson(body.toString('utf8')), 'block_height');
  const fetch = `"turnpike admin queue-tx ${id}" imports it by itself.`;
  const found = isCount(height)
    ? [heightWords(height)]
    : ['It is a transaction of the chain that is not imported.'];
  if (isBundle(header.tags)) {
    const part = explainMismatch(filters.unbundle, subjectOf(header));
    if (part !== undefined)
      found.push(`It is a bundle, and would be left unread: of ANS104_UNBUNDLE_FILTER, ${part}.`);
  }
  return found;

  function heightWords(at: number): string {
    const what = `It is a transaction at height ${at}`;
    if (at < config.START_HEIGHT)
      return `${what}, below START_HEIGHT (${config.START_HEIGHT}): blocks before it are not imported. ${fetch}`;
    if (config.STOP_HEIGHT !== undefined && at > config.STOP_HEIGHT) {
      return `${what}, above STOP_HEIGHT (${config.STOP_HEIGHT}). ${fetch}`;
    }
    if (at > index.height) return `${what}; the import is at ${index.height} and has not come to it.`;
    return `${what}, which is imported, but no node gave the transaction then: it is fetched later. ${fetch}`;
  }
}

/** Of an item that a bundle should hold. */
async function whyNotInBundle(deps: WhyDeps, id: string, bundle: string): Promise<string[]> {
  const { index, filters } = deps;
  const status = await bundleStatus(index.sql, bundle);
  if (status === undefined) {
    const located = await index.locate(bundle);
    const about = located === undefined ? await whyUnknown(deps, bundle, undefined) : [];
    const first =
      located === undefined ? `Bundle ${bundle} is not indexed.` : `${bundle} is indexed and is no bundle.`;
    return [first, ...about.map((line) => `Of the bundle: ${line}`)];
  }
  if (status.state !== 'unbundled') return asBundle(deps, status);
  const read = await asBundle(deps, status);
  const item = await findItem(deps, id, bundle);
  if (typeof item === 'string') return [...read, item];
  const part = explainMismatch(filters.index, subjectOf(item, bundle, status.rootTransactionId));
  return part === undefined
    ? [
        ...read,
        `The item is in it, and ANS104_INDEX_FILTER lets it through today: it was read under another filter, its signature is wrong, or it was pruned. "turnpike admin queue-bundle ${bundle}" reads the bundle again.`,
      ]
    : [...read, `The item is in it, and was not indexed: of ANS104_INDEX_FILTER, ${part}.`];
}

/** The item's header, or a sentence about why there is none. */
async function findItem({ readPart, index }: WhyDeps, id: string, bundle: string): Promise<Header | string> {
  if (readPart === undefined) return 'The bundle cannot be read here.';
  try {
    const first = await readPart(bundle, { start: 0, end: bundleCountBytes });
    const size = (await index.locate(bundle))?.size ?? first?.size;
    if (first === undefined || size === undefined) return 'No source has the bytes of the bundle now.';
    const length = measureBundleHeader(first.bytes, size, { lenient: true });
    if (typeof length === 'string') return `The bundle cannot be read: ${bundleProblems[length]}.`;
    if (length > maxListBytes) return 'The bundle has too many items to look for one by hand.';
    const list = await readPart(bundle, { start: 0, end: length });
    const header = list && parseBundleHeader(list.bytes, size, { lenient: true });
    if (header === undefined || typeof header === 'string')
      return 'The list of items in the bundle cannot be read now.';
    const wanted = Buffer.from(id, 'base64url');
    for (let at = 0; at < header.count; at++) {
      if (!header.idBytes(at).equals(wanted)) continue;
      const [start = 0, itemSize = 0] = [header.offsets[at], header.sizes[at]];
      if (itemSize === 0) return `The item is number ${at + 1} of the bundle, whose end cuts it off.`;
      const part = await readPart(bundle, { start, end: start + Math.min(itemSize, maxItemHeaderBytes) });
      const item = part && parseItemHeader(part.bytes, { lenient: true });
      if (item === undefined) return 'The bytes of the item cannot be had now.';
      if (typeof item === 'string')
        return `The item is number ${at + 1} of the bundle and is not valid: ${item}.`;
      return headerOfItem(item, wanted, itemSize);
    }
    return `The bundle does not list the id among its ${header.count} items.`;
  } catch (error) {
    return `The bundle could not be read now: ${messageOf(error)}.`;
  }
}
