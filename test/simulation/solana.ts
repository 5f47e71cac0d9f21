/**
 * A Solana of several nodes: the local ledger is the chain itself, and each node shows it as far as it has come. A node may
 * be behind, be down, lose what it is sent, send it late, forget old transactions, and refuse to answer.
 */
import { memberOf, tryParseJson } from '../../src/formats/json.ts';
import type { NamePrograms } from '../../src/formats/solana/programs.ts';
import { namePrograms } from '../../src/formats/solana/programs.ts';
import { parseTransaction } from '../../src/formats/solana/transaction.ts';
import { type AccountChanges, AccountStore } from '../../src/localnet/solana/accounts.ts';
import { Faucet } from '../../src/localnet/solana/faucet.ts';
import {
  defaultDemandFactor,
  defaultRegistryCapacity,
  faucetOf,
  genesisAccounts,
  identityOf,
} from '../../src/localnet/solana/genesis.ts';
import { Ledger, type SignatureStatus, TransactionRefused } from '../../src/localnet/solana/ledger.ts';
import { migrations } from '../../src/localnet/solana/migrations.ts';
import { programTable } from '../../src/localnet/solana/programs/program-table.ts';
import { callMethod, stringify } from '../../src/localnet/solana/rpc/dispatch.ts';
import { type RpcContext, RpcError, rpcCode } from '../../src/localnet/solana/rpc/method.ts';
import { signaturesHold } from '../../src/localnet/solana/signatures.ts';
import { type Moment, Slots } from '../../src/localnet/solana/slots.ts';
import {
  type ExecutedTransaction,
  LedgerStore,
  type StoredTransaction,
} from '../../src/localnet/solana/store.ts';
import { sysvarAccounts } from '../../src/localnet/solana/sysvars.ts';
import type { Sql } from '../../src/storage/sql/sql.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { SimulatedDatabase } from './database.ts';
import { skewed } from './faults.ts';
import type { Answered, Asked, Network } from './network.ts';
import type { Life, SimulatedProcess } from './process.ts';
import type { World } from './world.ts';

const second = 1_000;
const hour = 3_600 * second;
/** Slots after which no fork can undo a block. */
const finalAfter = 32;
/** Slots after which most of the stake has voted for a block. */
const confirmedAfter = 2;

interface Commit {
  readonly slot: number;
  readonly changes: AccountChanges;
}

export class SolanaNetwork {
  readonly programs: NamePrograms = namePrograms.mainnet;
  readonly nodes: readonly SolanaNode[];
  /** Every transaction that is on the chain, failed ones too. */
  readonly landed = new Map<string, ExecutedTransaction>();
  readonly #world: World;
  readonly #process: SimulatedProcess;
  readonly #database: SimulatedDatabase;
  readonly #seed: Buffer;
  readonly #commits: Commit[] = [];
  readonly #hashes = new Map<string, number>();
  /** How what was sent gets on: the share that is lost, and the longest that it waits. */
  readonly traffic = { lost: 0, longestMs: second };
  readonly #random: SeededRandom;
  #ledger: Ledger | undefined;
  #life: Life | undefined;

  constructor(world: World, network: Network, count: number) {
    this.#world = world;
    this.#random = world.random('solana');
    this.#seed = this.#random.bytes(32);
    this.#database = new SimulatedDatabase(world, 'solana', migrations);
    this.#process = world.process('solana');
    this.nodes = Array.from({ length: count }, (_, index) => {
      return new SolanaNode(this, world, network, index + 1);
    });
  }

  get ledger(): Ledger {
    if (this.#ledger === undefined) throw new Error('the chain has not begun');
    return this.#ledger;
  }

  get seed(): Buffer {
    return this.#seed;
  }

  get createdMs(): number {
    return this.#world.now - this.#world.time;
  }

  /** The chain and its nodes. `prepare` runs in the first block. */
  begin(prepare: (ledger: Ledger, faucet: Faucet) => Promise<void>): void {
    this.#life = this.#process.start(async (life) => {
      const slots = this.slots(() => this.#world.now);
      const ledger = new Ledger(
        new LedgerStore(this.#database.open()),
        this.genesis(slots),
        programTable(this.programs),
        slots,
        0,
      );
      ledger.onCommit((changes, transactions) => this.#record(changes, transactions));
      this.#ledger = ledger;
      const faucet = new Faucet(ledger, faucetOf(this.#seed), this.programs);
      await prepare(ledger, faucet);
      for (const node of this.nodes) node.up();
      for (;;) {
        await life.wait(hour);
        await faucet.upkeep();
      }
    });
  }

  /** The accounts of the first block. */
  genesis(slots: Slots): AccountStore {
    const settings = {
      programs: this.programs,
      registryCapacity: defaultRegistryCapacity,
      demandFactor: defaultDemandFactor,
    };
    const accounts = new AccountStore(sysvarAccounts(slots));
    accounts.apply(genesisAccounts(this.#seed, this.createdMs, settings));
    return accounts;
  }

  slots(clock: () => number): Slots {
    return new KnownSlots(this.#seed, this.createdMs, clock, this.#hashes);
  }

  /** As seen by a node that works for that process. */
  storeFor(slots: Slots, node: SolanaNode): LedgerStore {
    return new ShownStore(this.#database.open(), slots, node);
  }

  /** Brings a transaction to whoever makes the next block, or loses it. */
  forward(wire: Buffer): void {
    const { lost, longestMs } = this.traffic;
    if (this.#random.fraction() < lost) return;
    this.#life?.after(skewed(this.#random, 200, longestMs), () => {
      this.ledger.submit(wire, false).catch((error: unknown) => {
        if (!(error instanceof TransactionRefused)) this.#world.fail(error);
      });
    });
  }

  /** Applies what was done up to a slot, from a place of the log on; answers the next place. */
  replay(accounts: AccountStore, from: number, slot: number): number {
    let at = from;
    for (; at < this.#commits.length; at += 1) {
      const commit = this.#commits[at]!;
      if (commit.slot > slot) break;
      accounts.apply(commit.changes);
    }
    return at;
  }

  /** What is written into the chain from outside, before it is used. */
  write(changes: AccountChanges): void {
    this.ledger.accounts.apply(changes);
    this.#commits.push({ slot: this.ledger.slots.now().slot, changes });
  }

  #record(changes: AccountChanges, transactions: readonly ExecutedTransaction[]): void {
    for (const one of transactions) this.landed.set(one.signature, one);
    this.#commits.push({ slot: transactions[0]?.slot ?? this.ledger.slots.now().slot, changes });
  }
}

/** Of all hashes only those matter that somebody was told. */
class KnownSlots extends Slots {
  readonly #known: Map<string, number>;

  constructor(seed: Buffer, genesisMs: number, clock: () => number, known: Map<string, number>) {
    super(seed, genesisMs, clock);
    this.#known = known;
  }

  override blockhash(slot: number): string {
    const hash = super.blockhash(slot);
    this.#known.set(hash, slot);
    return hash;
  }

  override slotOf(blockhash: string, moment: Moment): number | undefined {
    const slot = this.#known.get(blockhash);
    return slot !== undefined && slot <= moment.slot ? slot : undefined;
  }
}

/** The log as far as a node has come, and as far as it remembers. */
class ShownStore extends LedgerStore {
  readonly #slots: Slots;
  readonly #node: SolanaNode;

  constructor(sql: Sql, slots: Slots, node: SolanaNode) {
    super(sql);
    this.#slots = slots;
    this.#node = node;
  }

  #shows({ slot }: StoredTransaction): boolean {
    const now = this.#slots.now().slot;
    return slot <= now && slot > now - this.#node.remembers;
  }

  override async bySignature(signature: string): Promise<StoredTransaction | undefined> {
    const found = await super.bySignature(signature);
    return found !== undefined && this.#shows(found) ? found : undefined;
  }

  override async byAddress(...given: Parameters<LedgerStore['byAddress']>): Promise<StoredTransaction[]> {
    return (await super.byAddress(...given)).filter((entry) => this.#shows(entry));
  }
}

/** Takes transactions as a node does that makes no blocks: looks at them and hands them on. */
class NodeLedger extends Ledger {
  readonly #solana: SolanaNetwork;
  readonly #node: SolanaNode;

  constructor(solana: SolanaNetwork, node: SolanaNode, slots: Slots, accounts: AccountStore) {
    super(solana.storeFor(slots, node), accounts, programTable(solana.programs), slots, 0);
    this.#solana = solana;
    this.#node = node;
  }

  override async submit(wire: Buffer, preflight: boolean): Promise<SignatureStatus> {
    const transaction = parseTransaction(wire);
    if (!(await signaturesHold(transaction))) throw new TransactionRefused('SignatureFailure');
    if (preflight) {
      const { error, logs, unitsConsumed } = this.simulate(transaction.message, { anyBlockhash: false });
      if (error !== undefined) throw new TransactionRefused(error, logs, unitsConsumed);
    }
    if (!this.#node.loses) this.#solana.forward(wire);
    return { slot: this.slots.now().slot, err: null, sequence: 0 };
  }
}

export class SolanaNode {
  readonly url: string;
  readonly process: SimulatedProcess;
  /** Milliseconds by which it is behind the chain. */
  behindMs: number;
  /** What it is sent goes nowhere. */
  loses = false;
  /** The share of what it is asked that it refuses, having too much to do. */
  refuses = 0;
  /** Slots for which it knows transactions. */
  remembers = Number.POSITIVE_INFINITY;
  readonly usuallyBehindMs: number;
  readonly #random: SeededRandom;
  readonly #solana: SolanaNetwork;
  readonly #world: World;
  readonly #network: Network;
  #accounts: AccountStore | undefined;
  #slots: Slots | undefined;
  #replayed = 0;

  constructor(solana: SolanaNetwork, world: World, network: Network, number: number) {
    this.#solana = solana;
    this.#world = world;
    this.#network = network;
    this.url = `http://solana-${number}.test`;
    this.process = world.process(`solana-${number}`);
    this.#random = world.random(`solana node ${number}`);
    this.usuallyBehindMs = 50 + 350 * this.#random.fraction();
    this.behindMs = this.usuallyBehindMs;
  }

  up(): void {
    this.process.start(async (life) => {
      this.#slots ??= this.#solana.slots(() => this.#world.now - this.behindMs);
      this.#accounts ??= this.#solana.genesis(this.#slots);
      const ledger = new NodeLedger(this.#solana, this, this.#slots, this.#accounts);
      const context: RpcContext = {
        ledger,
        airdrop: () => Promise.reject(new RpcError(rpcCode.internal, 'no airdrops here')),
        faucet: faucetOf(this.#solana.seed).address,
        identity: identityOf(this.#solana.seed),
        address: () => this.url,
      };
      this.#network.host(this.url, life, (asked) => this.#answer(context, asked));
    });
  }

  get slot(): number {
    return this.#slots?.now().slot ?? 0;
  }

  async #answer(context: RpcContext, { body }: Asked): Promise<Answered> {
    if (this.#random.fraction() < this.refuses) return { status: 429, body: '' };
    const question = tryParseJson(body.toString());
    const method = String(memberOf(question, 'method'));
    const params = memberOf(question, 'params');
    const given = Array.isArray(params) ? params : [];
    const { accounts } = context.ledger;
    this.#replayed = this.#solana.replay(accounts, this.#replayed, this.slot);
    const headers = { 'content-type': 'application/json' };
    const told = (answer: object) => ({
      status: 200,
      headers,
      body: stringify({ jsonrpc: '2.0', id: memberOf(question, 'id'), ...answer }),
    });
    try {
      return told({ result: this.#levelled(method, given, await callMethod(context, method, given)) });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return told({ error: { code: error.code, message: error.message, data: error.data } });
    }
  }

  /** The local ledger calls everything final at once; a cluster takes its time. */
  #levelled(method: string, params: readonly unknown[], result: unknown): unknown {
    if (method === 'getEpochInfo' && memberOf(params[0], 'commitment') === 'finalized') {
      const slot = Math.max(0, Number(memberOf(result, 'absoluteSlot')) - finalAfter);
      return { ...Object(result), absoluteSlot: slot, blockHeight: slot };
    }
    if (method !== 'getSignatureStatuses') return result;
    const now = Number(memberOf(memberOf(result, 'context'), 'slot'));
    const value = memberOf(result, 'value');
    const statuses = Array.isArray(value) ? value : [];
    return {
      ...Object(result),
      value: statuses.map((status: unknown) => {
        if (status === null) return null;
        const age = now - Number(memberOf(status, 'slot'));
        const level = age >= finalAfter ? 'finalized' : age >= confirmedAfter ? 'confirmed' : 'processed';
        return { ...Object(status), confirmationStatus: level };
      }),
    };
  }
}
