/**
 * The local Solana ledger: the chain that names live on, on loopback. Real wire transactions with real
 * signatures, blockhashes that live 150 blocks, packets of 1232 bytes, fees, rent, atomic execution, and the
 * name programs with their real layouts, so that what reads and writes the public chain works here unchanged.
 * It is no validator: nobody votes, and one process is the whole cluster.
 */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Type } from 'typebox';
import type { Config } from '../../config/config.ts';
import type { Fork } from '../../fork/fork.ts';
import { parseSolanaAddress, type SolanaAddress } from '../../formats/solana/address.ts';
import { type NamePrograms, namePrograms } from '../../formats/solana/programs.ts';
import { createJob } from '../../kernel/background/job.ts';
import { StartupError } from '../../kernel/errors.ts';
import { originOf } from '../../kernel/http/app.ts';
import { type HeldPort, openPort } from '../../kernel/http/held-ports.ts';
import { greetPeople } from '../../kernel/http/page/greeting.ts';
import { PatientServer } from '../../kernel/http/patient-server.ts';
import { type App, createHttpServer } from '../../kernel/http/server.ts';
import type { Logger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { createSurface, type Part, type Surface } from '../../kernel/part.ts';
import { type TlsConfig, tlsKeysOf } from '../../kernel/tls/tls-keys.ts';
import { forkHeader, wantsOwnOnly } from '../../outside/fork-header.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { holdAlone } from '../hold-alone.ts';
import { AccountStore } from './accounts.ts';
import { Faucet, type Grant } from './faucet.ts';
import {
  builtInAccounts,
  defaultDemandFactor,
  defaultRegistryCapacity,
  faucetOf,
  type GenesisSettings,
  genesisAccounts,
  identityOf,
} from './genesis.ts';
import { Ledger, type SignatureStatus } from './ledger.ts';
import { LedgerFork } from './ledger-fork.ts';
import { migrations } from './migrations.ts';
import { programTable } from './programs/program-table.ts';
import { answerText } from './rpc/dispatch.ts';
import type { RpcContext } from './rpc/method.ts';
import { Subscriptions } from './rpc/subscriptions.ts';
import { blockhashLife, Slots } from './slots.ts';
import { type Genesis, LedgerStore } from './store.ts';
import { sysvarAccounts } from './sysvars.ts';

export interface LocalSolanaDeps {
  readonly log: Logger;
  /** Where accounts come from that the ledger never had; started before the ledger. */
  readonly fork?: Fork | undefined;
  /** Keys that sell names: each is given lamports and name tokens once. */
  readonly fund?: readonly SolanaAddress[];
  /** The name programs' addresses; the public network's unless others are configured. */
  readonly programs?: NamePrograms;
  /** Unix milliseconds; the clock unless a test stands in for it. */
  readonly now?: () => number;
  /** Upkeep of the registry; 0 turns the timer off. */
  readonly upkeepIntervalMs?: number;
}

export interface LocalSolana extends Surface {
  /** Gives another key its first lamports and tokens. */
  fund(address: SolanaAddress): Promise<void>;
  /** Gives to those of the addresses that never had name tokens. */
  endow(addresses: readonly SolanaAddress[], grant: Grant): Promise<void>;
  /** Lamports and name tokens; answers the transaction. */
  give(address: SolanaAddress, grant: Grant): Promise<string>;
  /** What an address has of both. */
  holdings(address: SolanaAddress): Required<Grant>;
  /** Does what upkeep is due now; answers the number of transactions. */
  upkeep(): Promise<number>;
  /** The ledger itself, once started: for tests and benches. */
  readonly ledger: Ledger;
}

const maxBody = 1024 * 1024;

export function createLocalSolana(
  config: Pick<Config, 'LOCAL_NETWORK_HOST' | 'LOCAL_SOLANA_PORT' | 'DATA_DIR'> & TlsConfig,
  deps: LocalSolanaDeps,
): LocalSolana {
  const { log, now = Date.now, upkeepIntervalMs = 60_000, programs = namePrograms.mainnet } = deps;
  let running: { readonly ledger: Ledger; readonly faucet: Faucet } | undefined;
  let doing: Promise<number> | undefined;

  const live = () => {
    if (running === undefined) throw new Error('the ledger is not started');
    return running;
  };
  const upkeep = (): Promise<number> => {
    doing ??= live()
      .faucet.upkeep()
      .finally(() => {
        doing = undefined;
      });
    return doing;
  };

  const surface = createSurface('solana', async () => {
    const cluster = deps.fork?.accounts;
    const path = join(config.DATA_DIR, 'localnet', 'solana.db');
    const file = await openFile(path, programs, now, cluster !== undefined);
    const { ledger } = file;
    const fork = cluster && new LedgerFork(ledger, cluster, log);
    const faucet = new Faucet(ledger, faucetOf(file.genesis.seed), programs);
    running = { ledger, faucet };
    const server = createHttpServer({
      name: 'solana',
      title: 'Local Solana ledger',
      host: config.LOCAL_NETWORK_HOST,
      hostVariable: 'LOCAL_NETWORK_HOST',
      port: config.LOCAL_SOLANA_PORT,
      portVariable: 'LOCAL_SOLANA_PORT',
      tls: tlsKeysOf(config),
      log,
      metrics: new Metrics(),
      bodyLimit: maxBody,
      docs: false,
    });
    const context: RpcContext = {
      ledger,
      airdrop: (to, lamports) => faucet.airdrop(to, lamports),
      faucet: faucet.address,
      identity: identityOf(file.genesis.seed),
      address: () => new URL(surface.url).host,
      fork,
    };
    rpcRoutes(server.app, context, log);
    const chain: Part = {
      name: 'chain',
      async start() {
        for (const address of deps.fund ?? []) await faucet.fund(address);
        await upkeep();
        log.info({ genesisHash: ledger.slots.genesisHash }, 'local Solana ledger, not a public cluster');
      },
      jobs: [createJob({ name: 'upkeep', everyMs: upkeepIntervalMs, log, run: upkeep })],
      async stop() {
        await doing?.catch(() => {});
        await ledger.idle();
        running = undefined;
        await file.close();
      },
    };
    return { server, parts: [chain, webSockets(config, server.app, ledger, log)] };
  });

  return {
    ...surface,
    get url() {
      return surface.url;
    },
    get ledger() {
      return live().ledger;
    },
    upkeep,
    fund: (address) => live().faucet.fund(address),
    endow: (addresses, grant) => live().faucet.endow(addresses, grant),
    holdings: (address) => live().faucet.holdings(address),
    give: (address, grant) => live().faucet.give(address, grant),
  };
}

/** The ledger in its file, which no other process may use meanwhile. */
async function openFile(path: string, programs: NamePrograms, now: () => number, isForked: boolean) {
  const hold = holdAlone(path, 'the local Solana ledger');
  let sql: Sql | undefined;
  const close = async () => {
    await sql?.close();
    hold.release();
  };
  try {
    sql = await openSqliteFile(path, migrations);
    const settings = {
      programs,
      registryCapacity: defaultRegistryCapacity,
      demandFactor: defaultDemandFactor,
    };
    const { ledger, genesis } = await openLedger(sql, settings, now, { isForked });
    return { ledger, genesis, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function rpcRoutes(app: App, context: RpcContext, log: Logger): void {
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  );
  greetPeople(app, (request) => ({
    title: 'Local Solana ledger',
    about: 'The chain that names live on, on this machine: JSON-RPC by POST to this address, and WebSockets.',
    badge: 'Local network: play money',
    links: [{ path: '/health', what: 'whether it runs' }],
    next: {
      text: 'Give this address to a Solana client, or ask for some lamports:',
      command: `curl ${originOf(request)} -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"requestAirdrop","params":["{address}",1000000000]}'`,
    },
  }));
  app.get('/health', async () => 'ok');
  // JSON-RPC tells of transactions by an address alone.
  app.get(
    '/transactions',
    {
      schema: {
        querystring: Type.Object({ limit: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' })) }),
      },
    },
    async ({ query }) => {
      const newest = await context.ledger.newest(Number(query.limit ?? 50));
      return newest.map((entry) => ({
        signature: entry.signature,
        slot: entry.slot,
        err: entry.meta.err,
        fee: Number(entry.meta.fee),
        logs: entry.meta.logs,
        blockTime: Math.floor(entry.timeMs / 1000),
      }));
    },
  );
  app.post('/', async (request, reply) => {
    const text = typeof request.body === 'string' ? request.body : '';
    if (context.fork !== undefined) reply.header(forkHeader, context.fork.shown);
    const own = wantsOwnOnly(request.headers) ? { ...context, fork: undefined } : context;
    const answer = await answerText(own, text, log);
    return reply.header('content-type', 'application/json; charset=utf-8').send(answer);
  });
}

/** On the HTTP port, and on the next one, where clients look for them when they are told only the HTTP port. */
function webSockets(
  config: Pick<Config, 'LOCAL_NETWORK_HOST' | 'LOCAL_SOLANA_PORT'> & TlsConfig,
  app: App,
  ledger: Ledger,
  log: Logger,
): Part {
  const subscriptions = new Subscriptions(ledger);
  const keys = tlsKeysOf(config);
  const onFailure = (error: unknown): void => log.error({ err: error }, 'TLS cannot be answered');
  const nextPort = new PatientServer(
    { stallTimeoutMs: 60_000, maxConnections: 16_384, tls: keys && { keys, onFailure } },
    (_request, response) => response.writeHead(426).end(),
  );
  let held: HeldPort | undefined;
  for (const listener of [app.server, nextPort]) {
    listener.on('upgrade', (request, stream) => subscriptions.upgrade(request, stream));
  }
  return {
    name: 'websockets',
    async start() {
      if (config.LOCAL_SOLANA_PORT === 0 || config.LOCAL_SOLANA_PORT === 65_535) return;
      const port = config.LOCAL_SOLANA_PORT + 1;
      held = await openPort('LOCAL_SOLANA_PORT+1', nextPort, config.LOCAL_NETWORK_HOST, port).catch(
        (error) => {
          log.warn({ err: error, port }, 'WebSockets are served on the HTTP port only');
          return undefined;
        },
      );
    },
    async drain() {
      subscriptions.close();
      return true;
    },
    async stop() {
      subscriptions.close();
      held?.detach(nextPort);
      held?.cut(nextPort);
      nextPort.close();
      nextPort.cutAll();
    },
  };
}

/** `settings` make a new ledger; an existing one keeps its own, and must be for the same programs. */
export async function openLedger(
  sql: Sql,
  settings: GenesisSettings,
  clock: () => number,
  { isForked = false } = {},
) {
  const store = new LedgerStore(sql, { isForked });
  const genesis = (await store.genesis()) ?? (await begin(store, settings, clock()));
  const kept = readSettings(genesis.settings);
  if (kept.programs.arns !== settings.programs.arns || kept.programs.ant !== settings.programs.ant) {
    throw new StartupError(
      'the local Solana ledger was made for other name programs: remove its file or set ARNS_PROGRAM_CLUSTER back',
    );
  }
  const slots = new Slots(genesis.seed, genesis.createdMs, clock);
  const accounts = new AccountStore(sysvarAccounts(slots));
  for await (const [address, account] of store.accounts()) accounts.apply(new Map([[address, account]]));
  await addBuiltIns(store, accounts, kept.programs);
  const last = await store.last();
  if (last !== undefined) slots.notBefore(last.timeMs);
  const recent = new Map<string, SignatureStatus>();
  for await (const entry of store.since(slots.now().slot - 2 * blockhashLife)) {
    recent.set(entry.signature, { slot: entry.slot, err: entry.meta.err, sequence: entry.sequence });
  }
  const programs = programTable(kept.programs);
  const ended = isForked ? await store.ended() : undefined;
  const ledger = new Ledger(store, accounts, programs, slots, last?.sequence ?? 0, recent, ended);
  return { ledger, genesis, settings: kept };
}

/** Gives a ledger what has come to it since it was made. */
async function addBuiltIns(
  store: LedgerStore,
  accounts: AccountStore,
  programs: NamePrograms,
): Promise<void> {
  const missing = new Map([...builtInAccounts(programs)].filter(([address]) => !accounts.has(address)));
  if (missing.size === 0) return;
  await store.commit([], missing);
  accounts.apply(missing);
}

async function begin(store: LedgerStore, settings: GenesisSettings, now: number): Promise<Genesis> {
  const genesis = { seed: randomBytes(32), createdMs: now, settings: JSON.stringify(settings) };
  await store.begin(genesis, genesisAccounts(genesis.seed, now, settings));
  return genesis;
}

function readSettings(text: string): GenesisSettings {
  const value: GenesisSettings = JSON.parse(text);
  const { arns, ant, mint } = value.programs;
  for (const address of [arns, ant, mint]) parseSolanaAddress(address);
  return { ...value, programs: { arns, ant, mint } };
}
