/** Pages of the index, from the first to the last. */
import { memberOf, textOf, tryParseJson } from '../../../src/formats/json.ts';
import type { Network } from '../network.ts';
import type { Life } from '../process.ts';
import { askOnce } from './asking.ts';
import type { ReadingServer } from './installation.ts';

export type Order = 'HEIGHT_DESC' | 'HEIGHT_ASC';

export interface Indexed {
  readonly id: string;
  /** undefined: it is not mined. */
  readonly height: number | undefined;
}

const query = `query($first: Int!, $after: String, $sort: SortOrder) {
  transactions(first: $first, after: $after, sort: $sort) {
    pageInfo { hasNextPage }
    edges { cursor node { id block { height } } }
  }
}`;
const mostPages = 2_000;

/** Everything that a gateway has indexed, in that order; undefined where it did not answer to the end. */
export async function walk(
  life: Life,
  network: Network,
  server: ReadingServer,
  sort: Order,
  first: number,
): Promise<readonly Indexed[] | undefined> {
  const found: Indexed[] = [];
  let after: string | null = null;
  for (let page = 0; page < mostPages; page += 1) {
    const answer = await askOnce(life, network, server.url, {
      method: 'POST',
      path: '/graphql',
      headers: { 'content-type': 'application/json', host: server.host },
      body: JSON.stringify({ query, variables: { first, after, sort } }),
    });
    const data = memberOf(tryParseJson(answer?.body.toString() ?? ''), 'data');
    const transactions = memberOf(data, 'transactions');
    const edges = memberOf(transactions, 'edges');
    if (answer?.status !== 200 || !Array.isArray(edges)) return undefined;
    for (const edge of edges) {
      const node = memberOf(edge, 'node');
      const height = memberOf(memberOf(node, 'block'), 'height');
      found.push({ id: textOf(node, 'id') ?? '', height: typeof height === 'number' ? height : undefined });
      after = textOf(edge, 'cursor') ?? null;
    }
    if (memberOf(memberOf(transactions, 'pageInfo'), 'hasNextPage') !== true) return found;
  }
  life.world.broken(`the pages of ${server.process.name} have no end`);
  return undefined;
}

/** What is wrong with the order: heights go one way, and what is not mined stands at the newer end. */
export function disorderOf(indexed: readonly Indexed[], sort: Order): string | undefined {
  const rank = ({ height = Number.POSITIVE_INFINITY }: Indexed) => (sort === 'HEIGHT_ASC' ? height : -height);
  const at = indexed.findIndex((one, index) => {
    const next = indexed[index + 1];
    return next !== undefined && rank(one) > rank(next);
  });
  return at === -1 ? undefined : `${indexed[at]?.id} is before ${indexed[at + 1]?.id}`;
}
