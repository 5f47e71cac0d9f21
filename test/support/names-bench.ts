/**
 * The name service in one process for tests: a local ledger with a clock the test moves, a fresh database, a chain that
 * can be broken at any call, wallets that pay and wallets that own.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type Config, readConfig } from '../../src/config/config.ts';
import { type Credits, winc } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { creditsMigrations } from '../../src/credits/migrations.ts';
import { RequestSignatures } from '../../src/credits/signatures/request-signatures.ts';
import { encodeBase58 } from '../../src/formats/base58.ts';
import { addressBytes, parseSolanaAddress } from '../../src/formats/solana/address.ts';
import { parseTransaction, serializeTransaction, signersOf } from '../../src/formats/solana/transaction.ts';
import { type App, createHttpServer, type HttpServer } from '../../src/kernel/http/server.ts';
import { Metrics } from '../../src/kernel/metrics.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import type { Keypair } from '../../src/localnet/solana/genesis.ts';
import { TestLedger, wallet } from '../../src/localnet/solana/testing.ts';
import type { SolanaKey } from '../../src/names/chain/service-key.ts';
import type { NameListener } from '../../src/names/changes.ts';
import { namesMigrations } from '../../src/names/migrations.ts';
import { createNames, type Names } from '../../src/names/part.ts';
import type { KnownGateway } from '../../src/names/where.ts';
import type { CardPayments } from '../../src/payments/card/card.ts';
import { cardMigrations } from '../../src/payments/card/migrations.ts';
import { configuredFees } from '../../src/pricing/configured.ts';
import type { Pricing } from '../../src/pricing/pricing.ts';
import { staticRates } from '../../src/pricing/rates/table.ts';
import { createPricing } from '../../src/pricing/service.ts';
import { createNameChain, type NameChain } from '../../src/registry/chain.ts';
import { ChainUnavailable } from '../../src/registry/errors.ts';
import { createNameRegistry, type NameRegistry } from '../../src/registry/name-registry.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import type { Sql } from '../../src/storage/sql/sql.ts';
import { signEd25519 } from '../../src/wallets/solana/ed25519.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** What may go wrong on the way to the chain; each is asked before the call and may throw. */
export interface Faults {
  before?: (method: keyof NameChain) => void | Promise<void>;
  after?: (method: keyof NameChain) => void | Promise<void>;
}

export interface NamesBenchOptions {
  readonly environment?: Record<string, string>;
  readonly deliveryTimeoutMs?: number;
  /** A database that somebody else closes; SQLite in the ledger's folder unless given. */
  readonly sql?: Sql;
  /** A chain that somebody else stops: several services may be on one, over one database. */
  readonly ledger?: TestLedger;
  /** Routes of the card part: webhooks. */
  readonly cardRoutes?: (app: App, cards: CardPayments) => void;
  readonly listeners?: readonly NameListener[];
  readonly gateways?: () => readonly KnownGateway[];
  readonly cards?: (bench: { sql: Sql; pricing: Pricing; now: () => number }) => CardPayments;
}

/** What bound signatures name the service of these tests by. */
export const serviceAddress = 'NameServiceNameServiceNameServiceNameServi0';

export const namesLedgerMigrations = [...creditsMigrations, ...cardMigrations, ...namesMigrations];

export class NamesBench {
  readonly ledger: TestLedger;
  readonly config: Config;
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pricing;
  readonly registry: NameRegistry;
  readonly service: Keypair;
  readonly faults: Faults;
  readonly cards: CardPayments | undefined;
  readonly #options: NamesBenchOptions;
  readonly #chain: NameChain;
  names: Names;
  server: HttpServer;

  private constructor(parts: {
    ledger: TestLedger;
    config: Config;
    sql: Sql;
    credits: Credits;
    pricing: Pricing;
    chain: NameChain;
    registry: NameRegistry;
    service: Keypair;
    faults: Faults;
    cards: CardPayments | undefined;
    options: NamesBenchOptions;
  }) {
    this.ledger = parts.ledger;
    this.config = parts.config;
    this.sql = parts.sql;
    this.credits = parts.credits;
    this.pricing = parts.pricing;
    this.#chain = parts.chain;
    this.registry = parts.registry;
    this.service = parts.service;
    this.faults = parts.faults;
    this.cards = parts.cards;
    this.#options = parts.options;
    [this.names, this.server] = this.#create();
  }

  static async start(options: NamesBenchOptions = {}): Promise<NamesBench> {
    const config = readConfig(options.environment ?? {});
    const service = wallet('service');
    const ledger = options.ledger ?? (await TestLedger.start({ fund: [service.address] }));
    const now = () => ledger.time;
    const sql =
      options.sql ??
      (await openDatabase({
        databaseUrl: undefined,
        dataDir: ledger.folder,
        name: 'ledger',
        migrations: namesLedgerMigrations,
      }));
    const credits = createCredits({ sql, now });
    const pricing = createPricing({
      sql,
      hasPaid: credits.hasPaid,
      rates: staticRates(config.STATIC_RATES),
      network: { fetch: async () => 12_345_678_901_234n },
      ratesFreshMs: 60_000,
      ratesUsableMs: 10 ** 12,
      networkFreshMs: 900_000,
      networkUsableMs: 10 ** 12,
      catalogueFreshMs: 5_000,
      usdPerItem: config.USD_PRICE_PER_DATA_ITEM,
      fees: configuredFees(
        config.PAYMENT_FEE_NAME,
        config.PAYMENT_FEE_MULTIPLIER,
        config.KYVE_FEE_MULTIPLIER,
      ),
      tokensWithoutFees: config.TOKENS_WITHOUT_FEES,
      now,
    });
    const faults: Faults = {};
    const real = createNameChain({ urls: [ledger.local.url], timeoutMs: 60_000 });
    const chain = breakable(real, faults);
    const otherAnts = config.ANT_PROGRAMS_TRUSTED.map((one) => parseSolanaAddress(one));
    const programs = { ...ledger.programs, otherAnts };
    const registry = createNameRegistry(chain, programs, () => Math.floor(now() / 1000));
    const cards = options.cards?.({ sql, pricing, now });
    const bench = new NamesBench({
      ledger,
      config,
      sql,
      credits,
      pricing,
      chain,
      registry,
      service,
      faults,
      cards,
      options,
    });
    await bench.server.app.ready();
    return bench;
  }

  #create(): [Names, HttpServer] {
    const metrics = new Metrics();
    const signatures = new RequestSignatures({
      sql: this.sql,
      service: serviceAddress,
      requireBound: this.config.REQUIRE_BOUND_SIGNATURES,
      now: () => this.ledger.time,
    });
    const names = createNames(this.config, {
      log: silentLog,
      metrics,
      sql: this.sql,
      credits: this.credits,
      pricing: this.pricing,
      signatures,
      chain: this.#chain,
      registry: this.registry,
      key: keyOf(this.service),
      deliveryTimeoutMs: this.#options.deliveryTimeoutMs ?? 2_000,
      now: () => this.ledger.time,
      ...(this.cards !== undefined && { cards: this.cards }),
      listeners: this.#options.listeners ?? [],
      gateways: this.#options.gateways ?? (() => []),
    });
    const server = createHttpServer({
      name: 'payment',
      title: 'Names',
      host: '127.0.0.1',
      port: 0,
      portVariable: 'PAYMENT_PORT',
      log: silentLog,
      metrics,
      admit: signatures.admit,
    });
    signatures.watch(server.app);
    server.mount(
      (app) => {
        void names.routes(app);
        if (this.cards !== undefined) this.#options.cardRoutes?.(app, this.cards);
      },
      ['/v1'],
    );
    return [names, server];
  }

  /** As after a crash: nothing in memory survives, everything stored does. */
  async restart(): Promise<void> {
    await this.names.stop();
    await this.server.close();
    [this.names, this.server] = this.#create();
    await this.server.app.ready();
  }

  async stop(): Promise<void> {
    await this.names.stop();
    await this.server.close();
    if (this.#options.sql === undefined) await this.sql.close();
    await this.#chain.close();
    if (this.#options.ledger === undefined) await this.ledger.stop();
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.server.app.inject({ method: 'GET', url: `/v1${path}`, headers });
    return { status: answer.statusCode, body: parsed(answer.body), headers: answer.headers };
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.server.app.inject({
      method: 'POST',
      url: `/v1${path}`,
      headers: { 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(body),
    });
    return { status: answer.statusCode, body: parsed(answer.body), headers: answer.headers };
  }

  async give(payer: Keypair, amount: bigint): Promise<void> {
    await this.credits.credit({
      address: payer.address,
      addressType: 'solana',
      amount: winc(amount),
      reason: 'payment',
      id: randomUUID(),
    });
  }

  async balance(payer: Keypair): Promise<bigint> {
    return (await this.credits.balance(payer.address))?.winc ?? 0n;
  }

  /** Creates an action: signed by the payer and, for record actions, proven by the owner. */
  async create(
    action: string,
    body: Readonly<Record<string, unknown>>,
    payer: Keypair,
    options: { owner?: Keypair; nonce?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const proof = options.owner ? ownerHeaders(action, body, options.owner) : {};
    const headers = { ...payerHeaders(payer, options.nonce), ...proof, ...options.headers };
    return this.post(`/arns/actions/${action}`, body, headers);
  }

  /** Signs what an answer hands out and submits it. */
  async sign(envelope: unknown, owner: Keypair): Promise<Answer> {
    return this.post(`/arns/actions/${text(envelope, 'nonce')}/sign`, {
      transaction: ownerSigned(text(envelope, 'transaction'), owner),
    });
  }

  /** A bought name, signed by its owner: the token's address. */
  async buy(
    name: string,
    owner: Keypair,
    payer: Keypair,
    extra: Record<string, unknown> = {},
  ): Promise<string> {
    const created = await this.create(
      'buy-name',
      { name, ownerAddress: owner.address, type: 'lease', years: 1, ...extra },
      payer,
    );
    assert.equal(created.status, 200, JSON.stringify(created.body));
    const signed = await this.sign(created.body, owner);
    assert.equal(signed.status, 200, JSON.stringify(signed.body));
    assert.equal(text(signed.body, 'status'), 'completed');
    await this.names.settled();
    return text(signed.body, 'antId');
  }
}

export function keyOf({ address, privateKey }: Keypair): SolanaKey {
  return { address, sign: (message) => signEd25519(privateKey, message) };
}

export function payerHeaders(payer: Keypair, nonce: string = randomUUID()): Record<string, string> {
  return {
    'x-nonce': nonce,
    'x-signature': signEd25519(payer.privateKey, Buffer.from(nonce)).toString('base64url'),
    'x-public-key': addressBytes(payer.address).toString('base64url'),
    'x-signature-type': '4',
  };
}

/** The fields a proof binds, in order. */
const proofFields: Readonly<Record<string, readonly string[]>> = {
  'set-record': ['antId', 'undername', 'transactionId', 'ttlSeconds'],
  'remove-record': ['antId', 'undername'],
  'set-record-metadata': [
    'antId',
    'undername',
    'displayName',
    'recordLogo',
    'recordDescription',
    'recordKeywords',
  ],
  'remove-record-metadata': ['antId', 'undername'],
  'transfer-record': ['antId', 'undername', 'target'],
};

/** The proof a client makes for a body, with its defaults. */
export function ownerHeaders(
  action: string,
  body: Readonly<Record<string, unknown>>,
  owner: Keypair,
  nonce: string = randomUUID(),
): Record<string, string> {
  const fields: Readonly<Record<string, unknown>> = { undername: '@', ttlSeconds: 900, ...body };
  const line = (value: unknown) => (Array.isArray(value) ? value.join('\u0001') : String(value ?? '\u0000'));
  const lines = [...(proofFields[action] ?? [])].map((name) => line(fields[name]));
  const message = ['arns', action, ...lines].join('\n');
  return {
    'x-owner-public-key': addressBytes(owner.address).toString('base64url'),
    'x-owner-nonce': nonce,
    'x-owner-signature': signEd25519(owner.privateKey, Buffer.from(message + nonce)).toString('base64url'),
    'x-owner-signature-type': '4',
  };
}

/** The transaction with the owner's signature in its slot. */
export function ownerSigned(transaction: string, owner: Keypair): string {
  const parts = parseTransaction(Buffer.from(transaction, 'base64'));
  const place = signersOf(parts.message).indexOf(owner.address);
  const signature = signEd25519(owner.privateKey, parts.messageBytes);
  const signatures = parts.signatures.map((own, index) => (index === place ? signature : own));
  return serializeTransaction(signatures, parts.messageBytes).toString('base64');
}

export function signatureIn(transaction: string): string {
  return encodeBase58(parseTransaction(Buffer.from(transaction, 'base64')).signatures[0]!);
}

/** A member of an answer, by path; undefined where it is not there. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = Object.entries(current).find(([name]) => name === String(key))?.[1];
  }
  return current;
}

export function text(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path);
  assert.equal(typeof found, 'string', `no text at ${path.join('.')} of ${JSON.stringify(value)}`);
  return String(found);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function breakable(chain: NameChain, faults: Faults): NameChain {
  return new Proxy(chain, {
    get(target, name: keyof NameChain) {
      const method = target[name];
      // Nobody is asked.
      if (name === 'reach' || name === 'reached') return method;
      return async (...args: unknown[]) => {
        await faults.before?.(name);
        const result: unknown = await Reflect.apply(method, target, args);
        await faults.after?.(name);
        return result;
      };
    },
  });
}

export function chainDown(): never {
  throw new ChainUnavailable('down');
}
