/** The arguments of `transactions` as criteria of the index. */
import { createHash } from 'node:crypto';
import { isTxId, tryDecodeBase64url } from '../../formats/base64url.ts';
import { selectIn } from '../../storage/sql/many-rows.ts';
import { firstPos, PENDING_POS } from '../chain-index/order.ts';
import type { Criteria, Interruption } from '../chain-index/page-request.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { CHAIN_TERM, tagTerm, termKinds } from '../chain-index/terms.ts';
import { badInput } from './errors.ts';
import { matchingTerms, maxPatternTerms, type TagMatch } from './tag-patterns.ts';

/** As graphql coerces them: absent, null, or of the declared type. */
export interface TransactionsArgs {
  readonly ids?: readonly string[] | null;
  readonly owners?: readonly string[] | null;
  readonly recipients?: readonly string[] | null;
  readonly tags?: readonly TagFilterInput[] | null;
  readonly bundledIn?: readonly string[] | null;
  readonly parent?: readonly string[] | null;
  readonly block?: RangeInput | null;
  readonly ingested_at?: RangeInput | null;
  readonly first?: number | null;
  readonly after?: string | null;
  readonly sort?: SortOrder | null;
}

export interface TagFilterInput {
  readonly name: string;
  readonly values: readonly string[];
  readonly op?: 'EQ' | 'NEQ' | null;
  readonly match?: TagMatch | null;
}

export interface RangeInput {
  readonly min?: number | null;
  readonly max?: number | null;
}

export type SortOrder = 'HEIGHT_DESC' | 'HEIGHT_ASC' | 'INGESTED_AT_DESC' | 'INGESTED_AT_ASC';

export const maxIds = 1_000;
export const maxFilters = 16;

/** undefined when nothing can match, for example because a value was never seen. */
export async function criteriaOf(
  index: SqlGatewayIndex,
  args: TransactionsArgs,
  signal: Interruption | undefined,
): Promise<Criteria | undefined> {
  const groups: (readonly number[])[] = [];
  const none: number[] = [];
  const terms = index.terms;

  if (isGiven(args.owners)) {
    groups.push(await terms.findAll(termKinds.owner, bounded('owners', args.owners).flatMap(ownerAddress)));
  }
  if (isGiven(args.recipients)) {
    groups.push(
      await terms.findAll(termKinds.recipient, bounded('recipients', args.recipients).flatMap(idBytes)),
    );
  }
  const bundles = args.bundledIn === undefined ? args.parent : args.bundledIn;
  if (bundles === null) {
    groups.push([CHAIN_TERM]);
  } else if (isGiven(bundles)) {
    groups.push(await terms.findAll(termKinds.bundle, bounded('bundledIn', bundles).flatMap(idBytes)));
  }
  if (isGiven(args.tags)) {
    if (args.tags.length > maxFilters) throw badInput(`tags must have at most ${maxFilters} filters`);
    for (const filter of args.tags) {
      const found = await tagTerms(index, filter, signal);
      if (filter.op === 'NEQ') none.push(...found);
      else groups.push(found);
    }
  }
  if (none.length > maxPatternTerms) throw badInput(`tags exclude more than ${maxPatternTerms} values`);
  if (groups.some((group) => group.length === 0)) return undefined;

  let records: number[] | undefined;
  let ids: Buffer[] | undefined;
  if (isGiven(args.ids)) {
    ids = bounded('ids', args.ids, maxIds).flatMap(idBytes);
    const rows = await selectIn<{ record: number }>(
      index.sql,
      'SELECT record FROM records WHERE id IN ({in})',
      ids,
    );
    if (rows.length === 0 && (index.history === undefined || ids.length === 0)) return undefined;
    records = [...new Set(rows.map((row) => row.record))];
  }
  const [minPos, maxPos] = positions(args.block);
  return {
    groups,
    none,
    minPos,
    maxPos,
    minIngested: args.ingested_at?.min ?? undefined,
    maxIngested: args.ingested_at?.max ?? undefined,
    records,
    ids,
  };
}

/** Inclusive positions of a range of heights; what is not mined lies outside every range. */
function positions(range: RangeInput | null | undefined): [number, number] {
  const min = range?.min ?? undefined;
  const max = range?.max ?? undefined;
  if (min === undefined && max === undefined) return [0, Number.MAX_SAFE_INTEGER];
  return [
    firstPos(Math.max(0, min ?? 0)),
    max === undefined ? PENDING_POS - 1 : firstPos(Math.max(0, max + 1)) - 1,
  ];
}

async function tagTerms(
  index: SqlGatewayIndex,
  filter: TagFilterInput,
  signal: Interruption | undefined,
): Promise<number[]> {
  const values = bounded('tags.values', filter.values);
  const match = filter.match ?? 'EXACT';
  if (match !== 'EXACT') return matchingTerms(index.terms, match, filter.name, values, signal);
  const name = Buffer.from(filter.name);
  return index.terms.findAll(
    termKinds.tag,
    values.map((value) => tagTerm(name, Buffer.from(value)).hash),
  );
}

/** Empty lists are no filter, as the public schema has it. */
export function isGiven<T>(list: readonly T[] | null | undefined): list is readonly T[] {
  return list !== null && list !== undefined && list.length > 0;
}

export function bounded(what: string, list: readonly string[], limit = maxPatternTerms): readonly string[] {
  if (list.length > limit) throw badInput(`${what} must have at most ${limit} values`);
  return list;
}

/** What is not an id matches nothing; it is not an error. */
export function idBytes(id: string): Buffer[] {
  return isTxId(id) ? [Buffer.from(id, 'base64url')] : [];
}

/** An address, or a public key whose SHA-256 is the address. */
export function ownerAddress(owner: string): Buffer[] {
  if (owner.length <= 43) return idBytes(owner);
  const key = tryDecodeBase64url(owner);
  return key === undefined ? [] : [createHash('sha256').update(key).digest()];
}
