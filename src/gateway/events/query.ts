/**
 * Which events a reader wants: a filter in the language of unbundling and indexing, and types. Both may be left out. A
 * filter is about transactions and items; blocks pass beside it where their types are named.
 */
import { hash } from 'node:crypto';
import { BadQuery, type FeedQuery } from '../../events/feed.ts';
import { tryDecodeBase64url } from '../../formats/base64url.ts';
import { isRecord } from '../../formats/json.ts';
import {
  canonicalFilter,
  type Filter,
  FilterError,
  parseFilter,
  recordAttributes,
} from '../filters/filter.ts';
import { compileFilter } from '../filters/match.ts';
import { BlockEvent, type ChainEvent, eventTypes } from './chain-event.ts';

export interface ChainQuery extends FeedQuery {
  wants(event: ChainEvent): boolean;
}

/** Conditions and lists of one filter. */
const maxFilterValues = 1_000;

/** Throws `BadQuery` with a sentence for who asks. */
export function parseChainQuery(json: unknown): ChainQuery {
  if (!isRecord(json)) throw new BadQuery('A query must be an object with "filter" and "types", or neither');
  for (const key of Object.keys(json)) {
    if (key !== 'filter' && key !== 'types') throw new BadQuery(`"${key}" is not a part of a query`);
  }
  const filter = isAbsent(json.filter) ? undefined : eventFilter(json.filter);
  const named = isAbsent(json.types) ? undefined : parseTypes(json.types);
  const passes = filter && compileFilter(filter);
  return {
    key: canonicalFilter({ filter: filter ?? null, types: named === undefined ? null : [...named].sort() }),
    wants(event) {
      if (named !== undefined && !named.has(event.type)) return false;
      if (passes === undefined) return true;
      return event instanceof BlockEvent ? named !== undefined : passes(event);
    },
  };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** The text of a type, or with a star for either half: `item.mined`, `item.*`, `*.final`. */
function parseTypes(json: unknown): ReadonlySet<string> {
  if (!Array.isArray(json) || json.length === 0) throw new BadQuery('types must be a list of types');
  if (json.length > eventTypes.length) throw new BadQuery(`types has more than ${eventTypes.length} values`);
  const named = new Set<string>();
  for (const text of json) {
    const [kind, state, ...rest] = typeof text === 'string' ? text.split('.') : [];
    const found = eventTypes.filter((type) => {
      const [ofKind, ofState] = type.split('.');
      return (kind === '*' || kind === ofKind) && (state === '*' || state === ofState) && rest.length === 0;
    });
    if (found.length === 0) {
      throw new BadQuery(`${JSON.stringify(text)} is not a type; there are ${eventTypes.join(', ')}`);
    }
    for (const type of found) named.add(type);
  }
  return named;
}

/** Keys and signatures are not read for events: a key is known by its address, a signature by the id. */
const hashedAttributes: Readonly<Record<string, string>> = { owner: 'owner_address', signature: 'id' };
const partitionAttributes = recordAttributes.filter((name) => !Object.hasOwn(hashedAttributes, name));

function eventFilter(json: unknown): Filter {
  try {
    const filter = parseFilter(json);
    if (countValues(filter) > maxFilterValues)
      throw new FilterError(`has more than ${maxFilterValues} values`);
    return rewrite(filter);
  } catch (error) {
    if (error instanceof FilterError) throw new BadQuery(`filter: ${error.message}`);
    throw error;
  }
}

function rewrite(filter: Filter): Filter {
  if ('and' in filter) return { and: filter.and.map(rewrite) };
  if ('or' in filter) return { or: filter.or.map(rewrite) };
  if ('not' in filter) return { not: rewrite(filter.not) };
  if ('hashPartition' in filter && !partitionAttributes.includes(filter.hashPartition.partitionKey)) {
    throw new FilterError(`hashPartition cannot be by "${filter.hashPartition.partitionKey}" here`);
  }
  if (!('attributes' in filter)) return filter;
  // One and the same attribute may be asked for twice: by its own name, and by what hashes to it.
  return {
    and: Object.entries(filter.attributes).map(([name, value]) => ({ attributes: hashed(name, value) })),
  };
}

function hashed(name: string, value: string | number): Record<string, string | number> {
  const by = Object.hasOwn(hashedAttributes, name) ? hashedAttributes[name] : undefined;
  if (by === undefined) return { [name]: value };
  const bytes = tryDecodeBase64url(String(value));
  return { [by]: bytes === undefined ? '' : hash('sha256', bytes, 'base64url') };
}

function countValues(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 1;
  return Object.values(json).reduce<number>((sum, value) => sum + countValues(value), 0);
}
