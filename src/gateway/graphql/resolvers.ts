/** The questions of the schema, answered from the index. */
import { isTxId, tryDecodeBase64url } from '../../formats/base64url.ts';
import { type BlockPage, pageOfBlocks } from '../chain-index/blocks.ts';
import type { AskedHeights, Completeness, CompletenessReader } from '../chain-index/completeness.ts';
import type { BlockSummary } from '../chain-index/gateway-index.ts';
import { heightOf, MAX_HEIGHT, type OrderKey, PENDING_POS, tieOf } from '../chain-index/order.ts';
import type { Criteria, Interruption } from '../chain-index/page-request.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { criteriaOf, type RangeInput, type SortOrder, type TransactionsArgs } from './criteria.ts';
import { blockCursor, parseBlockCursor, parseTransactionCursor } from './cursor.ts';
import { badInput } from './errors.ts';
import type { ForkedEntries } from './forked.ts';
import { Nodes, type TransactionNode, type Wants } from './nodes.ts';
import type { Resolver } from './schema.ts';

export interface QueryContext {
  /** Field names that the operation selects. */
  readonly wants: Wants;
  readonly signal: Interruption;
  /** Collects the ids that are answered from the fork; undefined where only what is our own is asked for. */
  readonly forked: Set<string> | undefined;
}

interface Edge<T> {
  readonly cursor: string;
  readonly node: T;
}

interface Connection<T> {
  readonly pageInfo: { readonly hasNextPage: boolean };
  readonly edges: readonly Edge<T>[];
}

/** Remembers what was asked, so that `count` and `completeness` are computed only when they are selected. */
class TransactionPage implements Connection<TransactionNode> {
  readonly pageInfo: { readonly hasNextPage: boolean };
  readonly edges: readonly Edge<TransactionNode>[];
  readonly criteria: Criteria | undefined;
  readonly args: TransactionsArgs;
  /** Of another network, beside what the index counts. */
  readonly forked: number;

  constructor(
    hasNextPage: boolean,
    edges: readonly Edge<TransactionNode>[],
    criteria: Criteria | undefined,
    args: TransactionsArgs,
    forked = 0,
  ) {
    this.pageInfo = { hasNextPage };
    this.edges = edges;
    this.criteria = criteria;
    this.args = args;
    this.forked = forked;
  }
}

/** Rows of one page. How much a request may ask for in all, `cost.ts` has looked at. */
export const maxFirst = 1_000;
/** Of a page whose records went away while it was made. */
const maxTries = 3;
/** Beyond this `count` is null. */
const maxCount = 1_000_000;

export function createResolvers(
  index: SqlGatewayIndex,
  completeness: CompletenessReader,
  fork?: ForkedEntries,
): Record<string, Resolver<QueryContext>> {
  const nodes = new Nodes(index);

  function transaction(
    { id }: { id: string },
    { wants, forked }: QueryContext,
  ): TransactionNode | null | Promise<TransactionNode | null> {
    if (!isTxId(id)) return null;
    const own = nodes.node(id, wants);
    return own instanceof Promise ? own.then((node) => node ?? forkedNode(id, forked)) : own;
  }

  async function forkedNode(id: string, forked: QueryContext['forked']): Promise<TransactionNode | null> {
    const node = forked && (await fork?.node(id));
    if (node !== undefined) forked?.add(id);
    return node ?? null;
  }

  async function transactions(args: TransactionsArgs, context: QueryContext): Promise<TransactionPage> {
    const { forked } = context;
    const edges = fork === undefined || forked === undefined ? [] : await fork.edges(args);
    if (edges.length === 0 || forked === undefined) return await ownTransactions(args, context);
    const page = await pageWith(edges, args, context);
    for (const { node } of page.edges) if (edges.some((edge) => edge.node === node)) forked.add(node.id);
    return page;
  }

  /** The index's own first, then those of the fork. */
  async function pageWith(
    forked: readonly Edge<TransactionNode>[],
    args: TransactionsArgs,
    context: QueryContext,
  ): Promise<TransactionPage> {
    const first = pageSize(args.first);
    const after = isCursor(args.after) ? parseTransactionCursor(args.after).id.toString('base64url') : '';
    const at = forked.findIndex(({ node }) => node.id === after);
    const own =
      at === -1
        ? await ownTransactions(args, context)
        : new TransactionPage(false, [], await criteriaOf(index, args, context.signal), args);
    const rest = own.pageInfo.hasNextPage ? [] : forked.slice(at + 1);
    const room = first - own.edges.length;
    const isMore = own.pageInfo.hasNextPage || rest.length > room;
    const edges = [...own.edges, ...rest.slice(0, room)];
    return new TransactionPage(isMore, edges, own.criteria, args, forked.length);
  }

  async function ownTransactions(args: TransactionsArgs, context: QueryContext): Promise<TransactionPage> {
    const first = pageSize(args.first);
    const sort = args.sort ?? 'HEIGHT_DESC';
    const order = sort.startsWith('INGESTED') ? 'ingested' : 'height';
    const after = isCursor(args.after) ? await keyAfter(args.after, order, sort.endsWith('ASC')) : undefined;
    const criteria = await criteriaOf(index, args, context.signal);
    if (criteria === undefined) return new TransactionPage(false, [], undefined, args);
    const ascending = sort.endsWith('ASC');
    const request = { criteria, order, ascending, after, limit: first + 1, signal: context.signal } as const;
    for (let tries = 1; ; tries += 1) {
      const keys = await index.search.page(request);
      const edges = await nodes.edges(keys.slice(0, first), context.wants);
      // A record that moved to the history meanwhile is looked for again; one that is gone stays away.
      const isWhole = index.history === undefined || edges.length === Math.min(first, keys.length);
      if (isWhole || tries === maxTries) {
        return new TransactionPage(keys.length > first, edges, criteria, args);
      }
    }
  }

  /** The key in the index that a cursor stands for; the record may be gone, its place is not. */
  async function keyAfter(text: string, order: 'height' | 'ingested', ascending: boolean): Promise<OrderKey> {
    const cursor = parseTransactionCursor(text);
    const record = await index.recordOf(cursor.id.toString('base64url'));
    return {
      pos: order === 'height' ? cursor.pos : cursor.indexedAt,
      tie: tieOf(cursor.id),
      record: record ?? (ascending ? Number.MAX_SAFE_INTEGER : 0),
    };
  }

  async function count(connection: unknown, context: QueryContext): Promise<string | null> {
    if (!(connection instanceof TransactionPage)) return '0';
    const { criteria, forked } = connection;
    if (criteria === undefined) return String(forked);
    const counted = await index.search.count(criteria, maxCount, context.signal);
    return counted === undefined ? null : String(counted + forked);
  }

  async function pageCompleteness(page: unknown): Promise<Completeness | null> {
    const heights = page instanceof TransactionPage ? coveredHeights(page) : undefined;
    return heights === undefined ? null : completeness.of(heights);
  }

  async function block(args: { id?: string | null }): Promise<BlockSummary | null> {
    const id = args.id ? tryDecodeBase64url(args.id) : undefined;
    return id === undefined ? null : ((await index.blockById(id.toString('base64url'))) ?? null);
  }

  async function blocks(args: BlocksArgs): Promise<Connection<BlockSummary>> {
    const first = pageSize(args.first);
    const found = await pageOfBlocks(index.sql, { ...blockRange(args), limit: first + 1 });
    const edges = found.slice(0, first).map((node) => ({ cursor: blockCursor(node.height), node }));
    return { pageInfo: { hasNextPage: found.length > first }, edges };
  }

  return {
    'Query.transaction': (_root, args, context) => transaction(args, context),
    'Query.transactions': (_root, args, context) => transactions(args, context),
    'Query.block': (_root, args) => block(args),
    'Query.blocks': (_root, args) => blocks(args),
    'Query.completeness': (_root, args: { block?: RangeInput | null }) => completeness.of(args.block ?? {}),
    'TransactionConnection.count': (connection, _args, context) => count(connection, context),
    'TransactionConnection.completeness': (connection) => pageCompleteness(connection),
  };
}

/** The heights that nothing is on of what was asked for, but what the page shows; undefined where it shows only what is not mined. */
function coveredHeights({ args, edges, pageInfo }: TransactionPage): AskedHeights | undefined {
  const { min, max } = args.block ?? {};
  const sort = args.sort ?? 'HEIGHT_DESC';
  if (sort.startsWith('INGESTED')) return { min, max };
  const after = isCursor(args.after) ? minedHeight(parseTransactionCursor(args.after).pos) : null;
  const last = pageInfo.hasNextPage ? edges.at(-1)?.node.block?.height : null;
  if (sort.endsWith('ASC')) {
    // Behind the mined ones come those that are not.
    return after === undefined ? undefined : { min: after ?? min, max: last ?? max };
  }
  return last === undefined ? undefined : { min: last ?? min, max: after ?? max };
}

/** undefined for what is not mined. */
const minedHeight = (pos: number) => (pos >= PENDING_POS ? undefined : heightOf(pos));

interface BlocksArgs {
  readonly ids?: readonly string[] | null;
  readonly height?: RangeInput | null;
  readonly first?: number | null;
  readonly after?: string | null;
  readonly sort?: SortOrder | null;
}

function blockRange(args: BlocksArgs): Omit<BlockPage, 'limit'> {
  const ascending = (args.sort ?? 'HEIGHT_DESC').endsWith('ASC');
  let minHeight = Math.max(0, args.height?.min ?? 0);
  let maxHeight = args.height?.max ?? MAX_HEIGHT;
  if (isCursor(args.after)) {
    const height = parseBlockCursor(args.after);
    if (ascending) minHeight = Math.max(minHeight, height + 1);
    else maxHeight = Math.min(maxHeight, height - 1);
  }
  const ids =
    args.ids === null || args.ids === undefined || args.ids.length === 0
      ? undefined
      : args.ids.flatMap((id) => tryDecodeBase64url(id) ?? []);
  if (ids !== undefined && ids.length > maxFirst) throw badInput(`ids must have at most ${maxFirst} values`);
  return { minHeight, maxHeight, ids, ascending };
}

function isCursor(after: string | null | undefined): after is string {
  return after !== null && after !== undefined && after !== '';
}

function pageSize(first: number | null | undefined): number {
  const size = first ?? 10;
  if (size < 1) throw badInput('first must be 1 or more');
  return Math.min(size, maxFirst);
}
