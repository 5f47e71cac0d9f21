/** Transactions of a wallet as a gateway's GraphQL lists them, the newest first. */
import { isCount, isRecord, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import { HttpClient, OutsideUnavailable } from '../http.ts';

export interface ListedTransaction {
  readonly id: string;
  /** Unix milliseconds; undefined while it is in no block. */
  readonly at: number | undefined;
  readonly size: number;
}

export interface TransactionFilter {
  /** One of both: whom it pays, or who signed it. */
  readonly recipients?: readonly string[];
  readonly owners?: readonly string[];
  readonly tags?: readonly { readonly name: string; readonly values: readonly string[] }[];
}

const perPage = 100;
const mostPages = 10_000;
const timeoutMs = 30_000;
const maxBytes = 4 * 1024 * 1024;

const query = `query($recipients: [String!], $owners: [String!], $tags: [TagFilter!], $after: String) {
  transactions(recipients: $recipients, owners: $owners, tags: $tags, first: ${perPage}, after: $after, sort: HEIGHT_DESC) {
    pageInfo { hasNextPage }
    edges { cursor node { id data { size } bundledIn { id } block { timestamp } } }
  }
}`;

/**
 * Those of blocks since a moment (unix milliseconds), and those that are in no block. Only what is on the chain itself,
 * not in a bundle. Throws `OutsideUnavailable` where the gateway does not answer.
 */
export async function* listTransactions(
  gatewayUrl: string,
  filter: TransactionFilter,
  since: number,
): AsyncGenerator<ListedTransaction> {
  const client = new HttpClient({ timeoutMs, maxBytes });
  try {
    let after: string | undefined;
    for (let page = 0; page < mostPages; page += 1) {
      const edges = await pageOf(client, gatewayUrl, { ...filter, after });
      for (const { node } of edges.listed) {
        const seconds = memberOf(memberOf(node, 'block'), 'timestamp');
        const at = typeof seconds === 'number' ? seconds * 1000 : undefined;
        if (at !== undefined && at < since) return;
        if (isRecord(memberOf(node, 'bundledIn'))) continue;
        yield { id: textOf(node, 'id') ?? '', at, size: Number(textOf(memberOf(node, 'data'), 'size') ?? 0) };
      }
      after = edges.listed.at(-1)?.cursor;
      if (!edges.hasMore || after === undefined) return;
    }
  } finally {
    await client.close();
  }
}

/** The blocks that a gateway has indexed: the highest, and since when it knows them (unix milliseconds; 0: from the first on). */
export interface IndexedBlocks {
  readonly height: number;
  readonly since: number;
}

const blocksQuery = `query {
  newest: blocks(first: 1, sort: HEIGHT_DESC) { edges { node { height } } }
  oldest: blocks(first: 1, sort: HEIGHT_ASC) { edges { node { height timestamp } } }
}`;

/** Throws `OutsideUnavailable` where the gateway does not say it. */
export async function indexedBlocks(gatewayUrl: string): Promise<IndexedBlocks> {
  const client = new HttpClient({ timeoutMs, maxBytes });
  try {
    const data = await ask(client, gatewayUrl, { query: blocksQuery });
    const blockOf = (name: string) => {
      const edges = memberOf(memberOf(data, name), 'edges');
      return memberOf(Array.isArray(edges) ? edges[0] : undefined, 'node');
    };
    const height = memberOf(blockOf('newest'), 'height');
    const first = memberOf(blockOf('oldest'), 'height');
    const seconds = memberOf(blockOf('oldest'), 'timestamp');
    if (!isCount(height) || !isCount(first) || !isCount(seconds)) {
      throw new OutsideUnavailable(`${gatewayUrl} does not tell its blocks`);
    }
    return { height, since: first === 0 ? 0 : seconds * 1000 };
  } finally {
    await client.close();
  }
}

/** The data of the answer; undefined where there is none. */
async function ask(client: HttpClient, gatewayUrl: string, body: object): Promise<unknown> {
  const answer = await client.postJson(`${gatewayUrl.replace(/\/+$/, '')}/graphql`, body);
  if (answer.status !== 200)
    throw new OutsideUnavailable(`${gatewayUrl} does not answer queries (${answer.status})`);
  return memberOf(tryParseJson(answer.body.toString('utf8')), 'data');
}

async function pageOf(client: HttpClient, gatewayUrl: string, variables: object) {
  const transactions = memberOf(await ask(client, gatewayUrl, { query, variables }), 'transactions');
  const edges = memberOf(transactions, 'edges');
  if (!Array.isArray(edges)) throw new OutsideUnavailable(`${gatewayUrl} does not list transactions`);
  return {
    hasMore: memberOf(memberOf(transactions, 'pageInfo'), 'hasNextPage') === true,
    listed: edges.map((edge) => ({ node: memberOf(edge, 'node'), cursor: textOf(edge, 'cursor') })),
  };
}
