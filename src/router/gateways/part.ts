/** The gateways as a part: who content, hashes and names come from, and who answers chain reads and GraphQL. */
import type { Config } from '../../config/config.ts';
import { createJob } from '../../kernel/background/job.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import { type AttemptListener, discard } from './gateway.ts';
import { GatewaySet } from './gateway-set.ts';
import { HedgedAsks, type HedgeEvent } from './hedged-ask.ts';
import { type GatewayList, staticList } from './sources.ts';

/** Gateways that are measured at once. */
const pingsAtOnce = 10;

export interface GatewaysOptions {
  readonly config: Config;
  readonly routing: GatewayList;
  readonly verification: GatewayList;
  readonly onAttempt: AttemptListener;
  readonly onFirstPick: (origin: string) => void;
  readonly onHedge: (event: HedgeEvent) => void;
  /** Origins of the operator's own gateways. */
  readonly isOwn: (origin: string) => boolean;
  readonly log: Logger;
}

export interface GatewaysPart extends Part {
  readonly gateways: GatewaySet;
  readonly asks: HedgedAsks;
  /** Nodes of their own where those are configured, else the gateways. */
  readonly chain: ChainReaders;
  problems(): readonly string[];
}

export interface ChainReaders {
  readonly nodes: HedgedAsks;
  readonly graphql: HedgedAsks;
  /** Path of the GraphQL endpoint there. */
  readonly graphqlPath: string;
}

export function createGatewaysPart(options: GatewaysOptions): GatewaysPart {
  const { config, onAttempt, onFirstPick, onHedge, isOwn, log } = options;
  const setOf = (routing: GatewayList, verification: GatewayList): GatewaySet =>
    new GatewaySet({
      routing,
      verification,
      strategy: config.ROUTING_STRATEGY,
      limits: {
        failureThreshold: config.CIRCUIT_BREAKER_THRESHOLD,
        resetMs: config.CIRCUIT_BREAKER_RESET_MS,
        readsCountMs: config.TEMPERATURE_WINDOW_MS,
        connections: config.HTTP_CONNECTIONS_PER_HOST,
        connectTimeoutMs: config.HTTP_CONNECT_TIMEOUT_MS,
        requestTimeoutMs: config.HTTP_REQUEST_TIMEOUT_MS,
        streamTimeoutMs: config.STREAM_TIMEOUT_MS,
      },
      onAttempt,
      onFirstPick,
      log,
      refreshMs: config.NETWORK_GATEWAY_REFRESH_MS,
    });
  const gateways = setOf(options.routing, options.verification);
  const { ARWEAVE_READ_NODES: nodes, GRAPHQL_PROXY_URL: graphqlUrl } = config;
  const none = staticList(() => []);
  const setOrGateways = (urls: readonly string[]): GatewaySet =>
    urls.length === 0
      ? gateways
      : setOf(
          staticList(() => urls),
          none,
        );
  const nodeSet = setOrGateways(nodes);
  const graphqlSet = setOrGateways(graphqlUrl === undefined ? [] : [graphqlUrl]);
  const sets = new Set([gateways, nodeSet, graphqlSet]);
  return {
    name: 'gateways',
    gateways,
    asks: new HedgedAsks(gateways, onHedge, isOwn),
    chain: {
      nodes: new HedgedAsks(nodeSet, onHedge, isOwn),
      graphql: new HedgedAsks(graphqlSet, onHedge),
      graphqlPath: graphqlUrl === undefined ? '/graphql' : new URL(graphqlUrl).pathname,
    },
    jobs: [
      createJob({
        name: 'ping gateways',
        everyMs: config.PING_ENABLED ? config.PING_INTERVAL_MS : 0,
        log,
        run: pingRounds(gateways, config.PING_TIMEOUT_MS),
      }),
    ],
    async start() {
      for (const set of sets) await set.start();
    },
    async stop() {
      await Promise.all([...sets].map((set) => set.stop()));
    },
    problems: () => (gateways.problem === undefined ? [] : [`gateway list: ${gateways.problem}`]),
  };
}

/**
 * Measures the next few gateways of the list at each call, so that a quiet router knows its choices and an open circuit
 * is probed without a reader waiting. A quick answer says nothing about bytes: it lifts no quarantine.
 */
export function pingRounds(gateways: Pick<GatewaySet, 'all'>, timeoutMs: number): () => Promise<void> {
  let next = 0;
  return async () => {
    const { all } = gateways;
    const count = Math.min(pingsAtOnce, all.length);
    const chosen = Array.from({ length: count }, (_, index) => all[(next + index) % all.length]);
    next += count;
    await Promise.all(
      chosen.map(async (gateway) => {
        if (gateway === undefined || gateway.health.state === 'open') return;
        await gateway.ask({ role: 'ping', path: '/ar-io/info', timeoutMs }).then(discard, () => {});
      }),
    );
  };
}
