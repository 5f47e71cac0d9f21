/** Who answers chain reads and GraphQL: nodes of their own where those are configured, else the gateways. */
import type { RouterSettings } from '../settings.ts';
import type { GatewaySet } from './gateway-set.ts';
import { HedgedAsks } from './hedged-ask.ts';
import { staticList } from './sources.ts';

export function chainSets(
  { config }: RouterSettings,
  setOf: (routing: RouterSettings['routing'], verification: RouterSettings['verification']) => GatewaySet,
  gateways: GatewaySet,
) {
  const none = staticList(() => []);
  const { ARWEAVE_READ_NODES: nodes, GRAPHQL_PROXY_URL: graphqlUrl } = config;
  const nodeSet =
    nodes.length === 0
      ? gateways
      : setOf(
          staticList(() => nodes),
          none,
        );
  const graphqlSet =
    graphqlUrl === undefined
      ? gateways
      : setOf(
          staticList(() => [graphqlUrl]),
          none,
        );
  const own = [nodeSet, graphqlSet].filter((set) => set !== gateways);
  return {
    asks: (onHedge: (won: boolean) => void) => ({
      nodes: new HedgedAsks(nodeSet, onHedge),
      graphql: new HedgedAsks(graphqlSet, onHedge),
      graphqlPath: graphqlUrl === undefined ? '/graphql' : new URL(graphqlUrl).pathname,
    }),
    start: () => Promise.all(own.map((set) => set.start())),
    stop: () => Promise.all(own.map((set) => set.stop())),
  };
}
