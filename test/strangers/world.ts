/**
 * Two services in one process, wired as `turnpike start` wires them, over chains they share. Card provider and
 * facilitator are each service's own, as the outside world would be: everything is reached by the variables that name
 * real ones.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type Stripe from 'stripe';
import { createStack, type Stack } from '../../src/cli/stack.ts';
import { readConfig } from '../../src/config/config.ts';
import { testLogLevel } from '../../src/config/testing.ts';
import { variables } from '../../src/config/variables.ts';
import { encodeBase58 } from '../../src/formats/base58.ts';
import { addressBytes } from '../../src/formats/solana/address.ts';
import type { NamePrograms } from '../../src/formats/solana/programs.ts';
import { createLogger } from '../../src/kernel/log.ts';
import type { Surface } from '../../src/kernel/part.ts';
import { createLocalArweave } from '../../src/localnet/arweave/local-arweave.ts';
import {
  createLocalCardProvider,
  type LocalCardProvider,
} from '../../src/localnet/card/local-card-provider.ts';
import { clientOf } from '../../src/localnet/card/testing.ts';
import { keypairOf } from '../../src/localnet/solana/genesis.ts';
import { createLocalSolana, type LocalSolana } from '../../src/localnet/solana/local-solana.ts';
import { createLocalFacilitator, type LocalFacilitator } from '../../src/localnet/x402/local-facilitator.ts';
import { configuredPrograms } from '../../src/registry/programs.ts';
import { exportJwk } from '../../src/wallets/arweave/rsa.ts';
import { moreArweaveKeys, testArweaveKey } from '../../src/wallets/testing/keys.ts';
import { NodeClient } from '../support/local-arweave.ts';
import { freePorts } from '../support/stack.ts';
import { type Answer, type Call, Wire } from './calls.ts';
import { Clock } from './clock.ts';
import { EvmChain } from './evm-chain.ts';
import { type KnownRoute, RouteWatch } from './routes.ts';

export type ServiceName = 'here' | 'there';

/** Secrets of the operator, which nobody else is ever shown. */
export const operatorSecrets = {
  ADMIN_API_KEY: 'admin-key-that-only-the-operator-has',
  ADMIN_TOKEN: 'admin-token-that-only-the-operator-has',
  MODERATION_ADMIN_TOKEN: 'moderation-token-that-only-the-operator-has',
  JWT_SECRET: 'jwt-secret-that-only-the-service-has',
} as const;

export interface Service {
  readonly name: ServiceName;
  readonly folder: string;
  /** Base addresses by server: `payment`, `upload`, `gateway`, `router`, `admin`, `card`. */
  readonly urls: Readonly<Record<string, string>>;
  readonly card: LocalCardProvider;
  readonly stripe: Stripe;
  readonly facilitator: LocalFacilitator;
  /** Where its chain payments go. */
  readonly wallets: Readonly<Record<string, string>>;
  /** Read only, beside the service's own connections. */
  readonly ledger: DatabaseSync;
  readonly tokens: DatabaseSync;
}

export interface WorldOptions {
  /** Whether the services demand signatures that are bound to them, where they know the setting. */
  readonly bound?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** An upload in parts that is not finished is removed after this. */
export const sessionLifeSeconds = 120;
const silent = () => createLogger({ name: 'strangers', level: testLogLevel(), format: 'json' });
/** Requests come faster than people send them: what limits them is tried elsewhere. */
const unlimited = {
  ACTING_SIGNATURES_PER_MINUTE: '1000000',
  PAYMENT_RATE_LIMIT_PER_MINUTE: '0',
  PAYMENT_RATE_LIMIT_BURST: '1000000',
  UNKNOWN_PAYMENTS_PER_MINUTE: '1000000',
};
/** Receives AR, ETH and USDC on the chain that both services read. */
const evmAddress = {
  here: '0x1111111111111111111111111111111111111111',
  there: '0x2222222222222222222222222222222222222222',
};

export class World {
  readonly clock: Clock;
  readonly wire = new Wire();
  readonly watch: RouteWatch;
  readonly evm = new EvmChain();
  readonly services: Record<ServiceName, Service>;
  readonly solana: LocalSolana;
  readonly arweave: NodeClient;
  readonly programs: NamePrograms;
  readonly bound: boolean;
  readonly #parts: Surface[];
  readonly #folder: string;

  private constructor(made: {
    clock: Clock;
    watch: RouteWatch;
    evm: EvmChain;
    services: Record<ServiceName, Service>;
    solana: LocalSolana;
    arweave: NodeClient;
    programs: NamePrograms;
    bound: boolean;
    parts: Surface[];
    folder: string;
  }) {
    this.clock = made.clock;
    this.watch = made.watch;
    this.evm = made.evm;
    this.services = made.services;
    this.solana = made.solana;
    this.arweave = made.arweave;
    this.programs = made.programs;
    this.bound = made.bound;
    this.#parts = made.parts;
    this.#folder = made.folder;
  }

  static async start(options: WorldOptions = {}): Promise<World> {
    const clock = new Clock();
    const watch = new RouteWatch();
    const folder = mkdtempSync(join(quickFolder(), 'turnpike-strangers-'));
    const parts: Surface[] = [];
    // What is started goes with a start that fails: the test would never end.
    await using started = new AsyncDisposableStack();
    const begin = async <T extends Surface>(part: T): Promise<T> => {
      parts.push(part);
      started.defer(() => part.stop());
      await part.start();
      return part;
    };
    const evm = new EvmChain();
    await evm.start();
    started.defer(() => evm.stop());
    const base = readConfig({ ...freePorts(), DATA_DIR: join(folder, 'chains') });
    const arweave = await begin(
      createLocalArweave(
        {
          ...base,
          LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: 0,
          LOCAL_ARWEAVE_MINING: 'demand',
          LOCAL_ARWEAVE_CONFIRM_BLOCKS: 0,
        },
        { log: silent() },
      ),
    );
    const node = new NodeClient(arweave.url);
    const programs = configuredPrograms(base);
    const solana = await begin(createLocalSolana(base, { log: silent(), upkeepIntervalMs: 0, programs }));
    const bound = options.bound === true;
    const open = (name: ServiceName, more: Readonly<Record<string, string>>) =>
      openService(name, {
        folder: join(folder, name),
        begin,
        solana,
        node,
        environment: {
          ARWEAVE_NODE_URLS: arweave.url,
          SOLANA_RPC_URL: solana.url,
          BASE_RPC_URL: evm.url,
          BASE_ETH_ADDRESS: evmAddress[name],
          ...onlyKnown({ ...unlimited, REQUIRE_BOUND_SIGNATURES: String(bound) }),
          ...options.environment,
          ...more,
        },
      });
    const here = await open('here', {});
    const there = await open('there', { GATEWAY_URL: here.urls.gateway ?? '' });
    watch.stop();
    started.move();
    return new World({
      clock,
      watch,
      evm,
      services: { here, there },
      solana,
      arweave: node,
      programs,
      bound,
      parts,
      folder,
    });
  }

  send(call: Call): Promise<Answer> {
    return this.wire.send(call);
  }

  /** With the server's name, `payment here`. */
  routes(): (KnownRoute & {
    readonly server: string;
    readonly service: ServiceName;
    readonly base: string;
  })[] {
    return this.watch.routes().flatMap((route) => {
      for (const service of Object.values(this.services)) {
        for (const [server, base] of Object.entries(service.urls)) {
          if (new URL(base).port === String(route.port))
            return [{ ...route, server, service: service.name, base }];
        }
      }
      return [];
    });
  }

  /** The folders stay, to be looked at. */
  async stopServices(): Promise<void> {
    await this.wire.close();
    for (const { ledger, tokens } of Object.values(this.services)) {
      ledger.close();
      tokens.close();
    }
    for (const part of [...this.#parts].reverse()) {
      await part.drain(500);
      await part.stop();
    }
    await this.evm.stop();
  }

  async remove(): Promise<void> {
    this.clock.release();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    await this.stopServices();
    await this.remove();
  }
}

/** In memory where the machine has such a place: what is tried here is not how data survives a power cut. */
function quickFolder(): string {
  return existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
}

/** Only variables that there are: a setting may be younger than this file. */
function onlyKnown(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => name in variables));
}

interface Opening {
  readonly folder: string;
  readonly begin: <T extends Surface>(part: T) => Promise<T>;
  readonly solana: LocalSolana;
  readonly node: NodeClient;
  readonly environment: Readonly<Record<string, string>>;
}

async function openService(name: ServiceName, opening: Opening): Promise<Service> {
  const { folder, begin, solana, node } = opening;
  const key = keypairOf(createHash('sha256').update(`service ${name}`).digest());
  await solana.fund(key.address);
  const secret = Buffer.concat([
    createHash('sha256').update(`service ${name}`).digest(),
    addressBytes(key.address),
  ]);
  const base = readConfig({ ...freePorts(), DATA_DIR: folder });
  // Keys that are known beforehand: making one takes as long as hundreds of requests.
  const walletFile = join(folder, 'wallet.json');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    walletFile,
    JSON.stringify(exportJwk(name === 'here' ? testArweaveKey : moreArweaveKeys.second)),
  );
  const card = await begin(createLocalCardProvider(base, { log: silent() }));
  const facilitator = await begin(createLocalFacilitator(base, { log: silent() }));
  const config = readConfig({
    ...freePorts(),
    ...operatorSecrets,
    DATA_DIR: folder,
    SERVICE_WALLET_FILE: walletFile,
    ...onlyKnown({ RECEIPT_KEY_FILE: walletFile, DATA_KEY_FILE: walletFile }),
    SOLANA_SIGNER_SECRET_KEY: encodeBase58(secret),
    STRIPE_SECRET_KEY: card.secretKey,
    STRIPE_WEBHOOK_SECRET: card.webhookSecret,
    STRIPE_API_URL: card.url,
    X402_FACILITATOR_URL: facilitator.url,
    X402_PAYMENT_ADDRESS: facilitator.payTo,
    X402_RPC_URLS: JSON.stringify(facilitator.rpcUrls),
    // Small uploads have their price, too.
    X402_MINIMUM_PAYMENT_USDC: '1',
    ARWEAVE_MIN_CONFIRMATIONS: '1',
    MULTIPART_EXPIRY_SECS: String(sessionLifeSeconds),
    MULTIPART_MAX_OPEN_PER_IP: '100000',
    ARNS_MAX_OPEN_ACTIONS: '100000',
    ARNS_RECONCILE_MS: '1000',
    MAX_PAYMENT_TX_POLLING_ATTEMPTS: '1',
    // What waits for the chain is looked after often, and nothing is bundled: that moves no credits.
    BUNDLE_POLL_MS: '250',
    BUNDLE_MAX_WAIT_MS: '2000000000',
    ...opening.environment,
  });
  const only = name === 'here' ? undefined : ['payment', 'upload'];
  const stack = createStack(config, silent(), only === undefined ? {} : { only });
  for (const surface of stack.surfaces) await begin(surface);
  const urls = addressesOf(stack, card);
  await card.deliverTo(`${urls.payment}/v1/stripe-webhook`);
  const wallets = await walletsOf(urls.payment ?? '');
  await node.get(`/mint/${wallets.arweave}/1000000000000000`);
  return {
    name,
    folder,
    urls,
    card,
    stripe: clientOf(card),
    facilitator,
    wallets,
    ledger: new DatabaseSync(join(folder, 'ledger.db'), { readOnly: true }),
    tokens: new DatabaseSync(join(folder, 'localnet', 'x402.db'), { readOnly: true }),
  };
}

function addressesOf(stack: Stack, card: LocalCardProvider): Record<string, string> {
  const addresses = stack.addresses().map(({ name, url }) => [name, url]);
  return { ...Object.fromEntries(addresses), card: card.url };
}

async function walletsOf(payment: string): Promise<Record<string, string>> {
  const { addresses }: { addresses: Record<string, string> } = JSON.parse(
    await (await fetch(`${payment}/v1/info`)).text(),
  );
  return addresses;
}
