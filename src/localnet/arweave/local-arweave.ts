/**
 * The local Arweave network: one node that published clients cannot tell from a small real one. It checks what
 * a node checks, answers in a node's words, mines by itself, and keeps everything in one SQLite file. `/info` says
 * that the network is local.
 */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Fork } from '../../fork/fork.ts';
import { createHttpServer } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { createSurface, type Part, type Surface } from '../../kernel/part.ts';
import { type TlsConfig, tlsKeysOf } from '../../kernel/tls/tls-keys.ts';
import { holdAlone } from '../hold-alone.ts';
import { LocalNode, type Mining } from './chain/local-node.ts';
import { readWallet } from './chain/wallets.ts';
import { configuredMining, readMining, writeMining } from './mining.ts';
import { type ChainReaders, headOf, nobody } from './readers.ts';
import { RequestLog } from './request-log.ts';
import { nodeRoutes } from './routes/routes.ts';
import { MAX_TX_BODY_BYTES } from './rules.ts';

export type LocalArweaveConfig = Pick<
  Config,
  | 'DATA_DIR'
  | 'LOCAL_NETWORK_HOST'
  | 'LOCAL_ARWEAVE_PORT'
  | 'LOCAL_ARWEAVE_BLOCK_INTERVAL_MS'
  | 'LOCAL_ARWEAVE_MINING'
  | 'LOCAL_ARWEAVE_CONFIRM_BLOCKS'
> &
  TlsConfig;

export interface LocalArweaveDeps {
  readonly log: Logger;
  /** Where transactions are read that the node does not have; started before it. */
  readonly fork?: Fork | undefined;
  /** Milliseconds since 1970; the machine's clock unless given. */
  readonly now?: () => number;
  /** Who reads the chain in this process; nobody unless given. */
  readonly readers?: ChainReaders;
}

export interface LocalArweave extends Surface {
  /** Fills a wallet up to this many winston, once it has less than half of them. */
  fund(address: string, winston: bigint): Promise<void>;
  /** The node itself, once started. */
  readonly node: LocalNode;
  /** Mines so many blocks, and answers the height when those who read the chain in this process have read them. */
  mine(blocks: number): Promise<number>;
  /** From now on blocks are made like this, after a restart too. */
  setMining(mining: Mining): void;
}

export function createLocalArweave(config: LocalArweaveConfig, deps: LocalArweaveDeps): LocalArweave {
  const { log, now = Date.now, readers = nobody } = deps;
  const path = join(config.DATA_DIR, 'localnet', 'arweave.db');
  const miningPath = join(config.DATA_DIR, 'localnet', 'mining.json');
  let running: LocalNode | undefined;

  const surface = createSurface('arweave', async () => {
    const hold = holdAlone(path, 'the local Arweave node');
    const node = await LocalNode.open({
      path,
      log,
      mining: readMining(miningPath) ?? configuredMining(config),
      confirmBlocks: config.LOCAL_ARWEAVE_CONFIRM_BLOCKS,
      now,
    }).catch((error: unknown) => {
      hold.release();
      throw error;
    });
    running = node;
    const metrics = new Metrics();
    metrics.gauge('local_arweave_height', 'Height of the newest block', [], () => node.head.height);
    metrics.gauge('local_arweave_pending', 'Transactions in the mempool', [], () => node.pending);
    const requests = new RequestLog();
    const server = createHttpServer({
      name: 'arweave',
      title: 'Local Arweave node',
      description: 'A whole Arweave network on loopback: the routes of a node, and controls for tests.',
      host: config.LOCAL_NETWORK_HOST,
      hostVariable: 'LOCAL_NETWORK_HOST',
      port: config.LOCAL_ARWEAVE_PORT,
      portVariable: 'LOCAL_ARWEAVE_PORT',
      tls: tlsKeysOf(config),
      log,
      metrics,
      bodyLimit: MAX_TX_BODY_BYTES,
      answered: (request) => requests.note(request),
    });
    const stopping = new AbortController();
    const fork = deps.fork?.chain;
    server.mount((app) =>
      nodeRoutes(app, { node, metrics, readers, log: requests, stopping: stopping.signal, fork }),
    );
    const chain: Part = {
      name: 'chain',
      async drain() {
        stopping.abort();
        return true;
      },
      async stop() {
        await node.close();
        hold.release();
      },
    };
    return { server, parts: [chain] };
  });
  const started = (): LocalNode => {
    if (running === undefined) throw new Error('the node has not started');
    return running;
  };
  return {
    ...surface,
    get url() {
      return surface.url;
    },
    get node() {
      return started();
    },
    async mine(blocks) {
      const node = started();
      await node.mine(blocks);
      const head = headOf(node);
      await readers.mined(head);
      return head.height;
    },
    setMining(mining) {
      writeMining(miningPath, mining);
      started().setMining(mining);
    },
    async fund(address, winston) {
      const node = started();
      const wallet = await readWallet(node.sql, address);
      if ((wallet?.balance ?? 0n) < winston / 2n) await node.mint(address, winston);
    },
  };
}
