/** The arguments of subscriptions as queries of the feed: what `criteria.ts` asks the index for, asked of one event. */
import { tryDecodeBase64url } from '../../formats/base64url.ts';
import { DATA_ITEM, TRANSACTION } from '../chain-index/order.ts';
import { BlockEvent, type ChainEvent, RecordEvent } from '../events/chain-event.ts';
import type { ChainQuery } from '../events/query.ts';
import {
  bounded,
  idBytes,
  isGiven,
  maxFilters,
  maxIds,
  ownerAddress,
  type RangeInput,
  type TagFilterInput,
  type TransactionsArgs,
} from './criteria.ts';
import { badInput } from './errors.ts';
import { tagTest } from './tag-patterns.ts';

export interface TransactionEventsArgs extends Omit<TransactionsArgs, 'first' | 'sort'> {
  readonly states?: readonly string[] | null;
}

export interface BlockEventsArgs {
  readonly ids?: readonly string[] | null;
  readonly height?: RangeInput | null;
  readonly states?: readonly string[] | null;
  readonly after?: string | null;
}

/** Each is compared with every event, and none by an index. */
const maxPatterns = 16;

type Condition = (event: RecordEvent) => boolean;

export function transactionEvents(args: TransactionEventsArgs): ChainQuery {
  const conditions = [
    ...stateCondition(args.states),
    ...oneOf('ids', args.ids, idBytes, (event) => event.attribute('id'), maxIds),
    ...oneOf('owners', args.owners, ownerAddress, (event) => event.attribute('owner_address')),
    ...oneOf('recipients', args.recipients, idBytes, (event) => event.attribute('target')),
    ...bundleCondition(args.bundledIn === undefined ? args.parent : args.bundledIn),
    ...tagConditions(args.tags),
    ...range(args.block, (event) => event.height),
    ...range(args.ingested_at, (event) => event.row.indexed_at),
  ];
  return {
    wants: (event) => event instanceof RecordEvent && conditions.every((condition) => condition(event)),
  };
}

export function blockEvents(args: BlockEventsArgs): ChainQuery {
  const states = isGiven(args.states) ? new Set(args.states) : undefined;
  const ids = isGiven(args.ids)
    ? new Set(bounded('ids', args.ids, maxIds).filter((id) => tryDecodeBase64url(id) !== undefined))
    : undefined;
  const { min, max } = args.height ?? {};
  return {
    wants(event: ChainEvent) {
      if (!(event instanceof BlockEvent)) return false;
      const { height, id } = event.block;
      if (states !== undefined && !states.has(event.state.toUpperCase())) return false;
      if (ids !== undefined && !ids.has(id.toString('base64url'))) return false;
      return height >= (min ?? 0) && height <= (max ?? Number.POSITIVE_INFINITY);
    },
  };
}

function stateCondition(states: readonly string[] | null | undefined): Condition[] {
  if (!isGiven(states)) return [];
  const wanted = new Set(states);
  return [({ state }) => wanted.has(state.toUpperCase())];
}

function oneOf(
  what: string,
  list: readonly string[] | null | undefined,
  read: (text: string) => Buffer[],
  value: (event: RecordEvent) => string | number | undefined,
  limit?: number,
): Condition[] {
  if (!isGiven(list)) return [];
  const wanted = new Set<unknown>(
    bounded(what, list, limit)
      .flatMap(read)
      .map((bytes) => bytes.toString('base64url')),
  );
  return [(event) => wanted.has(value(event))];
}

/** null: chain transactions only. */
function bundleCondition(bundles: readonly string[] | null | undefined): Condition[] {
  if (bundles === null) return [({ row }) => row.kind === TRANSACTION];
  const inBundles = oneOf('bundledIn', bundles, idBytes, (event) => event.attribute('parent_id'));
  return inBundles.map((holds) => (event) => event.row.kind === DATA_ITEM && holds(event));
}

function tagConditions(filters: readonly TagFilterInput[] | null | undefined): Condition[] {
  if (!isGiven(filters)) return [];
  if (filters.length > maxFilters) throw badInput(`tags must have at most ${maxFilters} filters`);
  const patterns = filters.filter(({ match }) => (match ?? 'EXACT') !== 'EXACT');
  if (patterns.reduce((sum, { values }) => sum + values.length, 0) > maxPatterns) {
    throw badInput(`tags of a subscription must have at most ${maxPatterns} patterns`);
  }
  return filters.map(({ name, values, op, match }) => {
    const test = tagTest(match ?? 'EXACT', name, bounded('tags.values', values));
    const isWanted = op !== 'NEQ';
    return ({ textTags }) => textTags.some((tag) => test(tag.name, tag.value)) === isWanted;
  });
}

/** What has no value, such as the height of what is not mined, lies outside every range. */
function range(
  given: RangeInput | null | undefined,
  value: (event: RecordEvent) => number | undefined,
): Condition[] {
  const min = given?.min ?? undefined;
  const max = given?.max ?? undefined;
  if (min === undefined && max === undefined) return [];
  return [
    (event) => {
      const is = value(event);
      return is !== undefined && is >= (min ?? is) && is <= (max ?? is);
    },
  ];
}
