/**
 * A chain of Ethereum's kind in the simulated world, with one token, and nodes that are behind each other, stand still, do
 * not know everything and see blocks replaced. Blocks are not made one by one: a height follows from the time, and what was
 * sent is in a block or waits.
 */
import { createHash } from 'node:crypto';
import { authorizationUsedTopic, transferTopic } from '../../src/formats/evm-events.ts';
import { memberOf, tryParseJson } from '../../src/formats/json.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { changesOf } from './faults.ts';
import type { Answered, Asked, Network } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import type { Fault } from './scenario.ts';
import type { World } from './world.ts';

const blockMs = 2_000;
const firstHeight = 1_000;
/** After so many blocks nothing is replaced any more; services wait for more confirmations than that. */
const deepestFork = 3;

/** What a transaction moves of the token. */
interface TokenTransfer {
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
  /** Of the authorisation (EIP-3009) that it uses. */
  readonly authorization?: { readonly nonce: string; readonly validBefore: bigint };
}

interface NewTransaction {
  readonly from: string;
  readonly to: string;
  /** Of the chain's own coin. */
  readonly value: bigint;
  readonly input: string;
  readonly transfer?: TokenTransfer;
}

export interface EvmTransaction extends NewTransaction {
  readonly hash: string;
  readonly sentAt: number;
  /** Where it is; undefined while it waits. */
  block: number | undefined;
  /** Whether it moved anything. */
  isGood: boolean;
}

export class EvmNetwork {
  readonly nodes: readonly EvmNode[];
  readonly transactions = new Map<string, EvmTransaction>();
  /** The token's contract. */
  readonly asset: string;
  /** Milliseconds until what is sent is in a block, at most. */
  slowest = 15_000;
  readonly #world: World;
  readonly #random: SeededRandom;
  readonly #name: string;

  constructor(
    world: World,
    network: Network,
    options: { readonly name: string; readonly nodes: number; readonly asset: string },
  ) {
    this.#world = world;
    this.#name = options.name;
    this.asset = options.asset.toLowerCase();
    this.#random = world.random(`chain ${options.name}`);
    this.nodes = Array.from(
      { length: options.nodes },
      (_, index) => new EvmNode(this, world, world.process(`${options.name}-${index + 1}`), network),
    );
  }

  heightAt(time: number): number {
    return firstHeight + Math.floor(time / blockMs);
  }

  /** Unix seconds. */
  timestampOf(height: number): number {
    return Math.floor((this.#world.now - this.#world.time + (height - firstHeight) * blockMs) / 1_000);
  }

  /** Everybody hears of it at once; it is in a block after a while. */
  send(made: NewTransaction): EvmTransaction {
    const sent: EvmTransaction = {
      ...made,
      hash: `0x${createHash('sha256').update(`${this.#name} ${this.transactions.size}`).digest('hex')}`,
      sentAt: this.#world.time,
      block: undefined,
      isGood: true,
    };
    this.transactions.set(sent.hash, sent);
    this.#includeLater(sent);
    return sent;
  }

  /** What is in a block. */
  at(height: number): EvmTransaction[] {
    return [...this.transactions.values()].filter(({ block }) => block === height);
  }

  /** The transaction that used an authorisation, up to a height. */
  useOf(from: string, nonce: string, height = Number.POSITIVE_INFINITY): EvmTransaction | undefined {
    return [...this.transactions.values()].find(
      ({ transfer, block, isGood }) =>
        isGood &&
        block !== undefined &&
        block <= height &&
        transfer?.from.toLowerCase() === from.toLowerCase() &&
        transfer.authorization?.nonce === nonce,
    );
  }

  /** The newest blocks are replaced: what was in them is in later ones. Answers how much there was. */
  fork(): number {
    const head = this.heightAt(this.#world.time);
    const replaced = [...this.transactions.values()].filter(
      ({ block }) => block !== undefined && block > head - deepestFork,
    );
    for (const one of replaced) {
      one.block = undefined;
      this.#includeLater(one, true);
    }
    return replaced.length;
  }

  #includeLater(one: EvmTransaction, isAgain = false): void {
    // What was in a block and lost it is in the next ones soon: others want to see it there.
    const longest = isAgain ? 6_000 : this.slowest;
    this.#world.schedule(1_000 + longest * this.#random.fraction() ** 2, () => {
      const height = this.heightAt(this.#world.time) + 1;
      one.isGood = this.#canMove(one, height);
      one.block = height;
    });
  }

  #canMove({ transfer }: EvmTransaction, height: number): boolean {
    const authorization = transfer?.authorization;
    if (transfer === undefined || authorization === undefined) return true;
    if (this.useOf(transfer.from, authorization.nonce) !== undefined) return false;
    return BigInt(this.timestampOf(height)) < authorization.validBefore;
  }
}

const word = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

class EvmNode {
  readonly url: string;
  readonly process: SimulatedProcess;
  /** Milliseconds by which it is behind the others. */
  lag = 0;
  /** The time of the world at which it stopped to follow the chain. */
  stoodAt: number | undefined;
  /** Transactions that it does not show. */
  readonly lacks = new Set<string>();
  readonly #of: EvmNetwork;
  readonly #world: World;
  readonly #network: Network;

  constructor(of: EvmNetwork, world: World, process: SimulatedProcess, network: Network) {
    this.#of = of;
    this.#world = world;
    this.#network = network;
    this.process = process;
    this.url = `http://${process.name}.test`;
    this.up();
  }

  up(): void {
    const life = this.process.start(async () => {});
    this.#network.host(this.url, life, (asked) => this.#answer(asked));
  }

  down(): void {
    this.process.kill();
  }

  stand(): void {
    this.stoodAt = this.#world.time;
  }

  goOn(): void {
    this.stoodAt = undefined;
  }

  get #time(): number {
    return Math.max(0, Math.min(this.#world.time - this.lag, this.stoodAt ?? Number.POSITIVE_INFINITY));
  }

  get #head(): number {
    return this.#of.heightAt(this.#time);
  }

  #answer({ body }: Asked): Answered {
    const asked = tryParseJson(body.toString());
    const method = memberOf(asked, 'method');
    const given = memberOf(asked, 'params');
    const [first, second]: unknown[] = Array.isArray(given) ? given : [];
    const id = memberOf(asked, 'id');
    const result = this.#result(String(method), first, second);
    const answer =
      result === undefined
        ? { jsonrpc: '2.0', id, error: { code: 3, message: 'execution reverted' } }
        : { jsonrpc: '2.0', id, result };
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(answer),
    };
  }

  #result(method: string, first: unknown, second: unknown): unknown {
    switch (method) {
      case 'eth_blockNumber':
        return hex(this.#head);
      case 'eth_getBlockByNumber': {
        const height = first === 'latest' ? this.#head : Number(first);
        if (height > this.#head) return null;
        const transactions = this.#of.at(height).map(({ hash }) => this.#transaction(hash) ?? hash);
        return { number: hex(height), timestamp: hex(this.#of.timestampOf(height)), transactions };
      }
      case 'eth_getTransactionByHash':
        return this.#transaction(String(first));
      case 'eth_getTransactionReceipt':
        return this.#receipt(String(first));
      case 'eth_getLogs':
        return this.#logs(first);
      case 'eth_call':
        return this.#call(String(memberOf(first, 'data')), second);
      default:
        return undefined;
    }
  }

  #seen(hash: string): EvmTransaction | undefined {
    const one = this.lacks.has(hash) ? undefined : this.#of.transactions.get(hash);
    return one !== undefined && one.sentAt <= this.#time ? one : undefined;
  }

  #isMined({ block }: EvmTransaction): boolean {
    return block !== undefined && block <= this.#head;
  }

  #transaction(hash: string): unknown {
    const one = this.#seen(hash);
    if (one === undefined) return null;
    const { from, to, value, input, block } = one;
    const blockNumber = block !== undefined && this.#isMined(one) ? hex(block) : null;
    return { hash, from, to, value: hex(value), input, blockNumber };
  }

  #receipt(hash: string): unknown {
    const one = this.#seen(hash);
    if (one?.block === undefined || !this.#isMined(one)) return null;
    return {
      transactionHash: hash,
      blockNumber: hex(one.block),
      status: one.isGood ? '0x1' : '0x0',
      logs: this.#logsOf(one),
    };
  }

  #logsOf({ transfer, isGood, hash, block }: EvmTransaction): { topics: string[] }[] {
    if (transfer === undefined || !isGood || block === undefined) return [];
    const { from, to, value, authorization } = transfer;
    const place = { address: this.#of.asset, transactionHash: hash, blockNumber: hex(block) };
    const used =
      authorization === undefined
        ? []
        : [{ ...place, topics: [authorizationUsedTopic, word(from), authorization.nonce], data: '0x' }];
    const data = `0x${value.toString(16).padStart(64, '0')}`;
    return [...used, { ...place, topics: [transferTopic, word(from), word(to)], data }];
  }

  #logs(filter: unknown): unknown[] {
    const from = Number(memberOf(filter, 'fromBlock'));
    const last = memberOf(filter, 'toBlock');
    const to = last === 'latest' ? this.#head : Math.min(Number(last), this.#head);
    const wanted = memberOf(filter, 'topics');
    const topics: unknown[] = Array.isArray(wanted) ? wanted : [];
    return [...this.#of.transactions.values()].flatMap((one) => {
      if (one.block === undefined || one.block < from || one.block > to || this.lacks.has(one.hash))
        return [];
      return this.#logsOf(one).filter((log) =>
        topics.every((topic, index) => topic === null || topic === log.topics[index]),
      );
    });
  }

  /** `authorizationState(address,bytes32)`; no other contract is there. */
  #call(data: string, height: unknown): unknown {
    if (!data.startsWith('0xe94a0102')) return undefined;
    const from = `0x${data.slice(34, 74)}`;
    const nonce = `0x${data.slice(74, 138)}`;
    const used = this.#of.useOf(from, nonce, Math.min(Number(height), this.#head));
    const isShown = used !== undefined && !this.lacks.has(used.hash);
    return `0x${(isShown ? '1' : '0').padStart(64, '0')}`;
  }
}

const second = 1_000;
const minute = 60 * second;

/** One node of several may be wrong; what all nodes say is the truth, late. */
export function evmFaults(chain: EvmNetwork): Fault[] {
  const { nodes } = chain;
  const change = changesOf(nodes);
  return [
    change(
      'chain node down',
      40 * minute,
      'is down',
      (node) => node.down(),
      (node) => node.up(),
    ),
    change(
      'chain node behind',
      40 * minute,
      'is behind the others',
      (node, random) => {
        node.lag = 10 * second + random.fraction() * 20 * minute;
      },
      (node) => {
        node.lag = 0;
      },
    ),
    {
      name: 'chain node stands still',
      longest: 3 * 60 * minute,
      begin(random) {
        const node = random.pick(nodes);
        if (node.stoodAt !== undefined) return undefined;
        node.stand();
        return { what: `${node.process.name} stands still`, end: () => node.goOn() };
      },
    },
    change(
      'chain node forgets',
      60 * minute,
      'does not show what it had',
      (node) => {
        for (const hash of chain.transactions.keys()) node.lacks.add(hash);
      },
      (node) => node.lacks.clear(),
      nodes.length - 1,
    ),
    {
      name: 'fork',
      longest: 0,
      begin() {
        const replaced = chain.fork();
        return replaced === 0
          ? undefined
          : { what: `blocks with ${replaced} transactions are replaced on the chain of dollars` };
      },
    },
    {
      name: 'full blocks',
      longest: 30 * minute,
      begin() {
        const before = chain.slowest;
        const full = 4 * minute;
        if (before === full) return undefined;
        chain.slowest = full;
        return {
          what: 'blocks are full: transactions wait for minutes',
          end: () => {
            chain.slowest = before;
          },
        };
      },
    },
  ];
}
