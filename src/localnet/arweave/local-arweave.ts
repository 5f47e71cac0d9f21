/**
 * The local Arweave network: one node that published clients cannot tell from a small real one. It checks what
 * a node checks, answers in a node's words, mines by itself, and keeps everything in one SQLite file. `/info` says
 * that the network is local.
 *
 * `chain/` is the node without HTTP, `routes/` its paths by family, `faults.ts` the switches for tests. Calls
 * formats, kernel and storage.
 */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { createHttpServer, type HttpServer, urlHost } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import type { Surface } from '../../kernel/part.ts';
import { type Hold, holdAlone } from '../alone.ts';
import { LocalNode } from './chain/local-node.ts';
import { MAX_TX_BODY_BYTES } from './rules.ts';
import { nodeRoutes } from './server.ts';

export type LocalArweaveConfig = Pick<
  Config,
  | 'DATA_DIR'
  | 'LOCAL_NETWORK_HOST'
  | 'LOCAL_ARWEAVE_PORT'
  | 'LOCAL_ARWEAVE_BLOCK_INTERVAL_MS'
  | 'LOCAL_ARWEAVE_CONFIRM_BLOCKS'
>;

export interface LocalArweaveDeps {
  readonly log: Logger;
  /** Milliseconds since 1970; the machine's clock unless given. */
  readonly now?: () => number;
}

export function createLocalArweave(config: LocalArweaveConfig, deps: LocalArweaveDeps): Surface {
  const metrics = new Metrics();
  const stopping = new AbortController();
  let node: LocalNode | undefined;
  let server: HttpServer | undefined;
  let hold: Hold | undefined;

  return {
    name: 'arweave',
    get url() {
      return server?.url ?? `http://${urlHost(config.LOCAL_NETWORK_HOST)}:${config.LOCAL_ARWEAVE_PORT}`;
    },
    async start() {
      const path = join(config.DATA_DIR, 'localnet', 'arweave.db');
      hold = holdAlone(path, 'the local Arweave node');
      const opened = await LocalNode.open({
        path,
        log: deps.log,
        blockIntervalMs: config.LOCAL_ARWEAVE_BLOCK_INTERVAL_MS,
        confirmBlocks: config.LOCAL_ARWEAVE_CONFIRM_BLOCKS,
        now: deps.now ?? Date.now,
      });
      node = opened;
      metrics.gauge('local_arweave_height', 'Height of the newest block', [], () => opened.head.height);
      metrics.gauge('local_arweave_pending', 'Transactions in the mempool', [], () => opened.pending);
      server = createHttpServer({
        name: 'arweave',
        title: 'Local Arweave node',
        description: 'A whole Arweave network on loopback: the routes of a node, and controls for tests.',
        host: config.LOCAL_NETWORK_HOST,
        hostVariable: 'LOCAL_NETWORK_HOST',
        port: config.LOCAL_ARWEAVE_PORT,
        portVariable: 'LOCAL_ARWEAVE_PORT',
        log: deps.log,
        metrics,
        bodyLimit: MAX_TX_BODY_BYTES,
      });
      server.mount((app) => nodeRoutes(app, opened, metrics, stopping.signal));
      await server.listen();
    },
    async drain(timeoutMs) {
      stopping.abort();
      return (await server?.drain(timeoutMs)) ?? true;
    },
    async stop() {
      stopping.abort();
      await server?.close();
      await node?.close();
      hold?.release();
    },
  };
}
