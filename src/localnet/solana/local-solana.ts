/**
 * The local Solana ledger: the chain that names live on, on loopback. Real wire transactions with real
 * signatures, blockhashes that live 150 blocks, packets of 1232 bytes, fees, rent, atomic execution, and the
 * name programs with their real layouts, so that what reads and writes the public chain works here unchanged.
 *
 * `runtime/` executes a transaction, `programs/` are the programs, `ledger.ts` orders and keeps, `rpc/` answers
 * JSON-RPC. It may call formats, wallets, kernel and storage. It is no validator: nobody votes, and one process
 * is the whole cluster.
 */
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { type NamePrograms, namePrograms } from '../../formats/solana/programs.ts';
import { createHttpServer } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import type { Surface } from '../../kernel/part.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { type Hold, holdAlone } from '../alone.ts';
import { turnCrank } from './crank.ts';
import { Faucet } from './faucet.ts';
import { defaultDemandFactor, defaultRegistryCapacity, faucetOf } from './genesis.ts';
import type { Ledger } from './ledger.ts';
import { openLedger } from './open.ts';
import { answerText } from './rpc/dispatch.ts';
import type { RpcContext } from './rpc/method.ts';
import { Subscriptions } from './rpc/subscriptions.ts';
import { migrations } from './schema.ts';

export interface LocalSolanaDeps {
  readonly log: Logger;
  /** Keys that sell names: each is given lamports and name tokens once. */
  readonly fund?: readonly SolanaAddress[];
  /** The name programs' addresses; the public network's unless others are configured. */
  readonly programs?: NamePrograms;
  /** Unix milliseconds; the clock unless a test stands in for it. */
  readonly now?: () => number;
  /** Upkeep of the registry; 0 turns the timer off. */
  readonly crankIntervalMs?: number;
}

export interface LocalSolana extends Surface {
  /** Gives another key its first lamports and tokens. */
  fund(address: SolanaAddress): Promise<void>;
  /** Does what upkeep is due now; answers the number of transactions. */
  crank(): Promise<number>;
  /** The ledger itself, once started: for tests and benches. */
  readonly ledger: Ledger;
}

/** Where clients look for WebSockets when they are told only the HTTP port: the next one. */
function nextPort(
  server: Server,
  config: Pick<Config, 'LOCAL_NETWORK_HOST' | 'LOCAL_SOLANA_PORT'>,
  log: Logger,
): void {
  if (config.LOCAL_SOLANA_PORT === 0 || config.LOCAL_SOLANA_PORT === 65_535) return;
  const port = config.LOCAL_SOLANA_PORT + 1;
  server.on('error', (error) =>
    log.warn({ err: error, port }, 'WebSockets are served on the HTTP port only'),
  );
  server.listen({ host: config.LOCAL_NETWORK_HOST, port });
}

interface Running {
  readonly sql: Sql;
  readonly ledger: Ledger;
  readonly faucet: Faucet;
  readonly timer: NodeJS.Timeout | undefined;
}

const maxBody = 1024 * 1024;

export function createLocalSolana(
  config: Pick<Config, 'LOCAL_NETWORK_HOST' | 'LOCAL_SOLANA_PORT' | 'DATA_DIR'>,
  deps: LocalSolanaDeps,
): LocalSolana {
  const { log, now = Date.now, crankIntervalMs = 60_000, programs = namePrograms.mainnet } = deps;
  const server = createHttpServer({
    name: 'solana',
    title: 'Local Solana ledger',
    host: config.LOCAL_NETWORK_HOST,
    hostVariable: 'LOCAL_NETWORK_HOST',
    port: config.LOCAL_SOLANA_PORT,
    portVariable: 'LOCAL_SOLANA_PORT',
    log,
    metrics: new Metrics(),
    bodyLimit: maxBody,
    docs: false,
  });
  let running: Running | undefined;
  let hold: Hold | undefined;
  let turning: Promise<number> | undefined;

  const live = (): Running => {
    if (running === undefined) throw new Error('the ledger is not started');
    return running;
  };
  const context = (): RpcContext => {
    const { ledger, faucet } = live();
    return { ledger, airdrop: (to, lamports) => faucet.airdrop(to, lamports) };
  };
  const { app } = server;
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  );
  app.route({ method: ['GET', 'HEAD'], url: '/health', handler: async () => 'ok' });
  app.post('/', async (request, reply) => {
    const text = typeof request.body === 'string' ? request.body : '';
    const answer = await answerText(context(), text, log);
    return reply.header('content-type', 'application/json; charset=utf-8').send(answer);
  });

  const subscriptions = new Subscriptions(() => live().ledger);
  const sockets = createServer((_request, response) => response.writeHead(426).end());
  for (const listener of [app.server, sockets]) {
    listener.on('upgrade', (request, stream) => {
      if (running === undefined) stream.destroy();
      else subscriptions.upgrade(request, stream);
    });
  }

  const crank = (): Promise<number> => {
    const { ledger, faucet } = live();
    turning ??= turnCrank(ledger, faucet, programs).finally(() => {
      turning = undefined;
    });
    return turning;
  };

  return {
    name: 'solana',
    get url() {
      return server.url;
    },
    get ledger() {
      return live().ledger;
    },
    crank,
    fund: (address) => live().faucet.fund(address),
    async start() {
      const path = join(config.DATA_DIR, 'localnet', 'solana.db');
      hold = holdAlone(path, 'the local Solana ledger');
      const sql = await openSqliteFile(path, migrations);
      const settings = {
        programs,
        registryCapacity: defaultRegistryCapacity,
        demandFactor: defaultDemandFactor,
      };
      const opened = await openLedger(sql, settings, now).catch(async (error: unknown) => {
        await sql.close();
        throw error;
      });
      const faucet = new Faucet(opened.ledger, faucetOf(opened.genesis.seed), programs);
      const timer =
        crankIntervalMs === 0
          ? undefined
          : setInterval(() => {
              crank().catch((error: unknown) => log.warn({ err: error }, 'upkeep failed'));
            }, crankIntervalMs).unref();
      running = { sql, ledger: opened.ledger, faucet, timer };
      for (const address of deps.fund ?? []) await faucet.fund(address);
      await crank();
      await server.listen();
      nextPort(sockets, config, log);
      log.info({ genesisHash: opened.ledger.slots.genesisHash }, 'local Solana ledger, not a public cluster');
    },
    drain: (timeoutMs) => {
      subscriptions.close();
      return server.drain(timeoutMs);
    },
    async stop() {
      subscriptions.close();
      sockets.close();
      await server.close();
      if (running === undefined) return hold?.release();
      const { timer, ledger, sql } = running;
      clearInterval(timer);
      await turning?.catch(() => {});
      await ledger.idle();
      running = undefined;
      await sql.close();
      hold?.release();
    },
  };
}
