/** Entries of the network that is forked, for ids that the index does not have. */
import type { ForkedChain } from '../../fork/chain.ts';
import type { QueryNode } from '../../formats/arweave/query-node.ts';
import { isTxId } from '../../formats/base64url.ts';
import { selectIn } from '../../storage/sql/many-rows.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { TransactionsArgs } from './criteria.ts';
import { transactionCursor } from './cursor.ts';
import type { TransactionEdge, TransactionNode } from './nodes.ts';

export class ForkedEntries {
  readonly #index: SqlGatewayIndex;
  readonly #fork: ForkedChain;

  constructor(index: SqlGatewayIndex, fork: ForkedChain) {
    this.#index = index;
    this.#fork = fork;
  }

  /** For the answer to say where they are from. */
  get shown(): string {
    return this.#fork.shown;
  }

  async node(id: string): Promise<TransactionNode | undefined> {
    const [node] = await this.#fork.transactions.nodes([id]);
    return node && toNode(node);
  }

  /**
   * Edges of a question for ids and nothing else: what else is asked for, the fork's index may have by the million. They
   * come after the index's own, whose heights are those of another chain.
   */
  async edges(args: TransactionsArgs): Promise<TransactionEdge[]> {
    const ids = onlyIds(args).filter(isTxId);
    const known = await selectIn<{ id: Buffer }>(
      this.#index.sql,
      'SELECT id FROM records WHERE id IN ({in})',
      ids.map((id) => Buffer.from(id, 'base64url')),
    );
    const own = new Set(known.map(({ id }) => id.toString('base64url')));
    const others = ids.filter((id) => !own.has(id)).map((id) => Buffer.from(id, 'base64url'));
    for (const { id } of (await this.#index.history?.byIds(others)) ?? []) own.add(id.toString('base64url'));
    const found = await this.#fork.transactions.nodes(ids.filter((id) => !own.has(id)));
    const sign = (args.sort ?? 'HEIGHT_DESC').endsWith('ASC') ? 1 : -1;
    return found.sort((a, b) => sign * (heightOf(a) - heightOf(b)) || (a.id < b.id ? -1 : 1)).map(toEdge);
  }
}

function onlyIds(args: TransactionsArgs): readonly string[] {
  const { ids, owners, recipients, tags, bundledIn, parent, block, ingested_at } = args;
  const lists = [owners, recipients, tags, bundledIn ?? parent].some((list) => (list?.length ?? 0) > 0);
  const isOther = lists || bundledIn === null || parent === null || (block ?? ingested_at ?? null) !== null;
  return isOther ? [] : (ids ?? []);
}

/** What waits for its block is newest. */
const heightOf = ({ block }: QueryNode): number => block?.height ?? Number.MAX_SAFE_INTEGER;

function toNode(node: QueryNode): TransactionNode {
  return { ...node, parent: node.bundledIn, ingested_at: null };
}

function toEdge(forked: QueryNode): TransactionEdge {
  const { id, block, bundledIn } = forked;
  const blockIndex = block === null ? null : 0;
  const cursor = transactionCursor(block?.height ?? null, blockIndex, bundledIn !== null, id, 0);
  return { cursor, node: toNode(forked) };
}
