/** What a list is narrowed to: in the address of the page, as a GraphQL query, and back. */

export interface TagFilter {
  readonly name: string;
  readonly value: string;
}

export interface ListFilter {
  readonly tags: readonly TagFilter[];
  readonly owner?: string;
  readonly recipient?: string;
  /** Only transactions of the chain itself, or only bundles. */
  readonly kind?: 'transactions' | 'bundles';
  readonly contentType?: string;
  /** In this bundle. */
  readonly bundle?: string;
  readonly minHeight?: number;
  readonly maxHeight?: number;
  readonly oldestFirst?: boolean;
}

/** The gateway takes 16; two are for kind and type. */
export const maxTagFilters = 10;
const maxLength = 3_072;

export function filterOf(query: URLSearchParams): ListFilter {
  const text = (name: string) => (query.get(name) ?? '').trim().slice(0, maxLength);
  const height = (name: string) => (/^[0-9]{1,9}$/.test(text(name)) ? Number(text(name)) : undefined);
  const kind = text('kind');
  const [owner, recipient, contentType, bundle] = [text('owner'), text('to'), text('type'), text('bundle')];
  const [minHeight, maxHeight] = [height('from'), height('until')];
  return {
    tags: query.getAll('tag').slice(0, maxTagFilters).flatMap(tagOf),
    ...(owner !== '' && { owner }),
    ...(recipient !== '' && { recipient }),
    ...((kind === 'transactions' || kind === 'bundles') && { kind }),
    ...(contentType !== '' && { contentType }),
    ...(bundle !== '' && { bundle }),
    ...(minHeight !== undefined && { minHeight }),
    ...(maxHeight !== undefined && { maxHeight }),
    ...(query.get('order') === 'oldest' && { oldestFirst: true }),
  };
}

/** `Name:Value`; the first colon divides them, `%3A` in a name stands for one of its own. */
function tagOf(text: string): TagFilter[] {
  const at = text.indexOf(':');
  if (at < 1) return [];
  const name = text.slice(0, at).replaceAll('%3A', ':').slice(0, maxLength);
  return [{ name, value: text.slice(at + 1, at + 1 + maxLength) }];
}

/** The query string of a filter, with its question mark; empty where nothing is filtered. */
export function queryStringOf(filter: ListFilter): string {
  const query = new URLSearchParams();
  for (const { name, value } of filter.tags) query.append('tag', `${name.replaceAll(':', '%3A')}:${value}`);
  const set = (name: string, value: string | number | undefined) => {
    if (value !== undefined && value !== '') query.set(name, String(value));
  };
  set('owner', filter.owner);
  set('to', filter.recipient);
  set('kind', filter.kind);
  set('type', filter.contentType);
  set('bundle', filter.bundle);
  set('from', filter.minHeight);
  set('until', filter.maxHeight);
  if (filter.oldestFirst === true) query.set('order', 'oldest');
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

export const isFiltered = (filter: ListFilter): boolean =>
  queryStringOf({ ...filter, oldestFirst: false }) !== '';

export interface GraphqlQuery {
  readonly text: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Each argument that the filter has: its type in the schema, and its value. */
function argumentsOf(filter: ListFilter): readonly (readonly [string, string, unknown])[] {
  const found: [string, string, unknown][] = [];
  const tags = [
    ...filter.tags.map(({ name, value }) => ({ name, values: [value] })),
    ...(filter.contentType === undefined ? [] : [{ name: 'Content-Type', values: [filter.contentType] }]),
    ...(filter.kind === 'bundles' ? [{ name: 'Bundle-Format', values: ['binary'] }] : []),
  ];
  if (tags.length > 0) found.push(['tags', '[TagFilter!]', tags]);
  if (filter.owner !== undefined) found.push(['owners', '[String!]', [filter.owner]]);
  if (filter.recipient !== undefined) found.push(['recipients', '[String!]', [filter.recipient]]);
  if (filter.bundle !== undefined) found.push(['bundledIn', '[ID!]', [filter.bundle]]);
  else if (filter.kind === 'transactions') found.push(['bundledIn', '[ID!]', null]);
  if (filter.minHeight !== undefined || filter.maxHeight !== undefined) {
    const range = {
      ...(filter.minHeight !== undefined && { min: filter.minHeight }),
      ...(filter.maxHeight !== undefined && { max: filter.maxHeight }),
    };
    found.push(['block', 'BlockFilter', range]);
  }
  if (filter.oldestFirst === true) found.push(['sort', 'SortOrder', 'HEIGHT_ASC']);
  return found;
}

const rowFields = `id
        owner { address }
        recipient
        data { size type }
        block { height timestamp }
        bundledIn { id }`;

/** A page of the list, as the page itself asks for it. */
export function listQuery(filter: ListFilter, first: number, after?: string): GraphqlQuery {
  const args = [
    ...argumentsOf(filter),
    ['first', 'Int', first] as const,
    ...(after === undefined ? [] : [['after', 'String', after] as const]),
  ];
  return {
    text: `query Transactions(${args.map(([name, type]) => `$${name}: ${type}`).join(', ')}) {
  transactions(${args.map(([name]) => `${name}: $${name}`).join(', ')}) {
    pageInfo { hasNextPage }
    edges {
      cursor
      node {
        ${rowFields}
      }
    }
  }
}`,
    variables: Object.fromEntries(args.map(([name, , value]) => [name, value])),
  };
}

/** How many there are in all. */
export function countQuery(filter: ListFilter): GraphqlQuery {
  const args = [...argumentsOf(filter), ['first', 'Int', 1] as const];
  return {
    text: `query Count(${args.map(([name, type]) => `$${name}: ${type}`).join(', ')}) { transactions(${args.map(([name]) => `${name}: $${name}`).join(', ')}) { count } }`,
    variables: Object.fromEntries(args.map(([name, , value]) => [name, value])),
  };
}

/** Where the playground shows a query. */
export function playgroundHref({ text, variables }: GraphqlQuery): string {
  const query = new URLSearchParams({ query: text });
  if (Object.keys(variables).length > 0) query.set('variables', JSON.stringify(variables));
  return `/explorer/graphql?${query}`;
}
