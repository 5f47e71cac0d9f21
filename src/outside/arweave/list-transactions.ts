/** Transactions of a wallet as a gateway's GraphQL lists them, the newest first. */
import { isRecord, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
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

async function pageOf(client: HttpClient, gatewayUrl: string, variables: object) {
  const answer = await client.postJson(`${gatewayUrl.replace(/\/+$/, '')}/graphql`, { query, variables });
  const transactions = memberOf(memberOf(tryParseJson(answer.body.toString('utf8')), 'data'), 'transactions');
  const edges = memberOf(transactions, 'edges');
  if (answer.status !== 200 || !Array.isArray(edges)) {
    throw new OutsideUnavailable(`${gatewayUrl} does not list transactions (${answer.status})`);
  }
  return {
    hasMore: memberOf(memberOf(transactions, 'pageInfo'), 'hasNextPage') === true,
    listed: edges.map((edge) => ({ node: memberOf(edge, 'node'), cursor: textOf(edge, 'cursor') })),
  };
}
