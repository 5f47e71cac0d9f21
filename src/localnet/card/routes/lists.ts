/** How objects of a kind are read: one by its id, lists that can be narrowed, and searches. */
import type { App } from '../../../kernel/http/server.ts';
import { get, limitOf, listOf, type Provider, pageOf, post } from '../api.ts';
import { type Comparison, type Condition, compare, memberPath } from '../conditions.ts';
import { invalidRequest } from '../errors.ts';
import type { Params } from '../params.ts';
import { parseSearch, type SearchFields } from '../search.ts';
import { getObject, type Kind, listObjects, putObject, searchObjects } from '../store.ts';

/** How a parameter narrows a list: the member it is compared with, or what the object is kept under, and what it is read as. */
export interface Filter {
  readonly member?: string;
  readonly isParent?: boolean;
  readonly type?: 'flag' | 'text';
}

export interface Readable {
  readonly path: string;
  readonly kind: Kind;
  readonly filters?: Readonly<Record<string, Filter>>;
  readonly search?: SearchFields;
}

/** By id, listed, searched. */
export function readable(app: App, provider: Provider, what: Readable): void {
  get(app, provider, `${what.path}/:id`, (tx, { id }) => getObject(tx, what.kind, id));
  listed(app, provider, what);
}

/** `metadata` alone can be changed. */
export function changeableMetadata(app: App, provider: Provider, { path, kind }: MetadataOf): void {
  post(app, provider, `${path}/:id`, async (change, { id, params }) => {
    const object = await getObject(change.tx, kind, id);
    const changed = { ...object, metadata: params.metadata(object.metadata ?? {}) };
    params.done();
    await putObject(change, changed);
    return { object: changed };
  });
}

interface MetadataOf {
  readonly path: string;
  readonly kind: 'checkout.session' | 'refund';
}

/** Listed and searched. */
export function listed(app: App, provider: Provider, { path, kind, filters = {}, search }: Readable): void {
  get(app, provider, path, async (tx, { params }) => {
    const conditions = [...readFilters(params, filters), ...readCreated(params)];
    const page = pageOf(params);
    // Refused before anything is read.
    params.done();
    return listOf(`/v1${path}`, page, await listObjects(tx, kind, conditions, page));
  });
  if (search === undefined) return;
  get(app, provider, `${path}/search`, async (tx, { params }) => {
    const condition = parseSearch(params.text('query'), search);
    const limit = limitOf(params);
    const before = readPlace(params.optionalText('page'));
    params.done();
    const { data, next } = await searchObjects(tx, kind, [condition], limit, before);
    return {
      object: 'search_result',
      url: `/v1${path}/search`,
      has_more: next !== undefined,
      next_page: next === undefined ? null : writePlace(next),
      data,
    };
  });
}

function readFilters(params: Params, filters: Readonly<Record<string, Filter>>): Condition[] {
  return Object.entries(filters).flatMap(([name, { member = name, type = 'text', isParent = false }]) => {
    if (!params.has(name)) return [];
    const value = type === 'flag' ? params.flag(name) : (params.optionalText(name) ?? '');
    if (isParent) return [{ sql: 'parent = ?', values: [String(value)] }];
    return [compare(memberPath(member), '=', value)];
  });
}

const bounds: Readonly<Record<string, Comparison>> = { gt: '>', gte: '>=', lt: '<', lte: '<=' };

/** `created=1700000000` or `created[gte]=…`. */
export function readCreated(params: Params): Condition[] {
  const path = memberPath('created');
  if (params.isText('created')) {
    const at = params.optionalInteger('created');
    return at === undefined ? [] : [compare(path, '=', at)];
  }
  const range = params.object('created');
  const conditions = Object.entries(bounds).flatMap(([name, comparison]) => {
    const at = range?.optionalInteger(name);
    return at === undefined ? [] : [compare(path, comparison, at)];
  });
  range?.done();
  return conditions;
}

const writePlace = (place: number): string => Buffer.from(String(place)).toString('base64url');

function readPlace(text: string | undefined): number {
  if (text === undefined) return Number.MAX_SAFE_INTEGER;
  const place = Buffer.from(text, 'base64url').toString();
  if (!/^[0-9]{1,15}$/.test(place)) throw invalidRequest('Invalid page', { param: 'page' });
  return Number(place);
}
