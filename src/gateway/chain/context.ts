/** What every part of the gateway is given; a part picks what it needs. */
import type { Config } from '../../config/config.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { NodePool } from '../../outside/arweave/node-pool.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { NodeChunks } from './node-chunks.ts';

export interface GatewayContext {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly index: SqlGatewayIndex;
  readonly nodes: NodePool;
  readonly chunks: NodeChunks;
}
