/**
 * The chain itself, asked over JSON-RPC where an address for it is configured: what became of an authorisation
 * (EIP-3009), and whether a contract wallet stands by a signature (ERC-1271). Every call is bounded.
 */
import { authorizationUsedTopic, transferTopic } from '../../formats/evm-events.ts';
import { memberOf } from '../../formats/json.ts';
import type { X402Network } from '../../formats/x402/networks.ts';
import type { TransferAuthorization, X402Payment } from '../../formats/x402/payment.ts';
import { nonceBitmapSelector, noncePlace, permit2Contract } from '../../formats/x402/permit2.ts';
import {
  evmHex,
  evmNumber,
  evmWord,
  type LogSearch,
  logsBackwards,
  timeOf,
} from '../../outside/evm-history.ts';
import { evmCallErrors, type JsonRpcNode, JsonRpcPool } from '../../outside/json-rpc.ts';
import { absent, found, type LookUp } from '../../outside/look-up.ts';
import { ChainUnavailable } from './errors.ts';

const defaultTimeoutMs = 3_000;
const maxAnswerBytes = 1024 * 1024;
/** A service that was away for long looks further back, though not for ever: a week of two-second blocks. */
const mostSearches = 60;
/** Whoever lists all of a wallet's transfers looks back for months. */
const mostListSearches = 2_000;
/** Transfers of one amount from one payer that are looked into for a permit. */
const mostTransactions = 50;
/** A node's clock and ours differ, and a block bears the time at which it was begun. */
const clockSlackMs = 15 * 60_000;

/** `authorizationState(address,bytes32)` */
const authorizationStateSelector = '0xe94a0102';
/** `isValidSignature(bytes32,bytes)`, and what it answers when it is. */
const isValidSignatureSelector = '0x1626ba7e';

/**
 * What became of an authorisation. One that was used otherwise was another one of the same nonce: its holder may sign as
 * many as they like, and carry out one that pays themselves. One whose use is not seen was cancelled, is older than the search, or
 * so new that the node has not listed it yet.
 */
export type AuthorizationFate =
  | { readonly kind: 'unused' }
  | { readonly kind: 'transferred'; readonly transaction: string }
  | { readonly kind: 'used-otherwise' }
  | { readonly kind: 'used-unseen' };

/** The token, as it came in to a wallet. */
export interface IncomingTransfer {
  readonly from: string;
  readonly value: bigint;
  /** Of the authorisation (EIP-3009) that it used; undefined where it was sent otherwise. */
  readonly nonce: string | undefined;
  readonly transaction: string;
  /** Unix milliseconds. */
  readonly at: number;
}

export class AuthorizationChain {
  readonly #pools: ReadonlyMap<string, JsonRpcPool>;
  readonly #now: () => number;

  /** RPC addresses by version 1's or version 2's name of the network, several of one separated by commas. */
  constructor(
    urls: Readonly<Record<string, string>>,
    timeoutMs = defaultTimeoutMs,
    now: () => number = Date.now,
  ) {
    this.#now = now;
    this.#pools = new Map(
      Object.entries(urls).map(([network, list]) => [
        network,
        new JsonRpcPool({
          urls: list.split(',').map((url) => url.trim()),
          timeoutMs,
          maxBytes: maxAnswerBytes,
          callErrors: evmCallErrors,
        }),
      ]),
    );
  }

  knows(network: X402Network): boolean {
    return this.#poolOf(network) !== undefined;
  }

  /**
   * `since`: unix milliseconds; nothing is looked for that is much older. Unused is what every node says; where one
   * cannot say, this fails with `ChainUnavailable`.
   */
  async fateOf(
    network: X402Network,
    authorization: TransferAuthorization,
    since: number,
  ): Promise<AuthorizationFate> {
    const { from, nonce, validBefore } = authorization;
    return this.#fate(network, {
      use: {
        to: network.asset,
        data: `${authorizationStateSelector}${evmWord(from)}${nonce.slice(2)}`,
        isUsed: (answer) => answer !== 0n,
        validBefore,
      },
      find: (node) => fateFrom(node, network, authorization, since - clockSlackMs),
    });
  }

  /** The same of a permit, of which `amount` was to be taken. The contract logs no nonce: its signature is looked for. */
  async fateOfPermit(
    network: X402Network,
    { authorization, signature }: Pick<X402Payment, 'authorization' | 'signature'>,
    amount: bigint,
    since: number,
  ): Promise<AuthorizationFate> {
    const { from, nonce, validBefore } = authorization;
    const place = noncePlace(nonce);
    return this.#fate(network, {
      use: {
        to: permit2Contract,
        data: `${nonceBitmapSelector}${evmWord(from)}${place.word.toString(16).padStart(64, '0')}`,
        isUsed: (answer) => ((answer >> place.bit) & 1n) === 1n,
        validBefore,
      },
      find: (node) =>
        permitFateFrom(node, network, { ...authorization, value: amount }, signature, since - clockSlackMs),
    });
  }

  async #fate(network: X402Network, { use, find }: FateSearch): Promise<AuthorizationFate> {
    const pool = this.#poolOf(network);
    if (pool === undefined) throw new ChainUnavailable(`no RPC address for ${network.caip2}`);
    const used = await pool.lookUp((node) => this.#isUsed(node, use));
    if (used.state === 'not-known') throw unavailable(used.cause);
    if (used.state === 'absent') return { kind: 'unused' };
    const fate = await pool.lookUp(find);
    if (fate.state === 'not-known') throw unavailable(fate.cause);
    return fate.state === 'absent' ? { kind: 'used-unseen' } : fate.value;
  }

  /**
   * Whether one node has seen the authorisation used, in its newest block. Once the authorisation has run out, "no" is
   * for good, but only of a node whose blocks have come that far: one that stands still is behind.
   */
  async #isUsed(
    node: JsonRpcNode,
    { to, data, isUsed, validBefore }: FateSearch['use'],
  ): Promise<LookUp<true>> {
    const head = await node.call('eth_getBlockByNumber', ['latest', false]);
    const height = evmNumber(memberOf(head, 'number'));
    const state = await node.call('eth_call', [{ to, data }, evmHex(height)]);
    if (typeof state !== 'string' || !/^0x[0-9a-f]{64}$/i.test(state)) {
      throw new ChainUnavailable('whether an authorisation is used was answered with nonsense');
    }
    if (isUsed(BigInt(state))) return found(true, Number(height));
    const hasRunOut = BigInt(Math.floor(this.#now() / 1000)) > validBefore;
    if (hasRunOut && evmNumber(memberOf(head, 'timestamp')) < validBefore) {
      throw new ChainUnavailable('a node is behind the end of the authorisation');
    }
    return absent(Number(height));
  }

  /**
   * Transfers of the token to a wallet since a moment (unix milliseconds), the newest first, each with the authorisation
   * that it used, where it used one. Throws where the chain does not answer, or is asked for longer than it is searched.
   */
  async *transfersTo(network: X402Network, wallet: string, since: number): AsyncGenerator<IncomingTransfer> {
    const pool = this.#poolOf(network);
    if (pool === undefined) throw new ChainUnavailable(`no RPC address for ${network.caip2}`);
    const head = evmNumber(await pool.call('eth_blockNumber', []));
    const seen = new Set<string>();
    const topics = [transferTopic, null, `0x${evmWord(wallet)}`];
    const search = { topics, head, since, mostSearches: mostListSearches, isWhole: true };
    for await (const log of logsBackwards(pool, { address: network.asset, ...search })) {
      const transaction = memberOf(log, 'transactionHash');
      if (typeof transaction !== 'string' || !isWord(transaction) || seen.has(transaction)) continue;
      seen.add(transaction);
      const number = evmHex(evmNumber(memberOf(log, 'blockNumber')));
      const block = await pool.call('eth_getBlockByNumber', [number, false]);
      const at = timeOf(block);
      if (at < since) continue;
      const receipt = await pool.call('eth_getTransactionReceipt', [transaction]);
      for (const transfer of transfersIn(receipt, network, wallet)) yield { ...transfer, transaction, at };
    }
  }

  /** ERC-1271. Anything but the agreed answer is a no, also from an address without code. */
  async isSignedByContract(
    network: X402Network,
    wallet: string,
    digest: Uint8Array,
    signature: string,
  ): Promise<boolean> {
    const bytes = signature.slice(2);
    const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0');
    const data = [
      isValidSignatureSelector,
      Buffer.from(digest).toString('hex'),
      (64).toString(16).padStart(64, '0'),
      (bytes.length / 2).toString(16).padStart(64, '0'),
      padded,
    ].join('');
    const call = { to: wallet, data, gas: `0x${(1_000_000).toString(16)}` };
    const answer = await this.#poolOf(network)
      ?.call('eth_call', [call, 'latest'])
      .catch(() => undefined);
    return typeof answer === 'string' && /^0x1626ba7e0{56}$/i.test(answer);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  #poolOf(network: X402Network): JsonRpcPool | undefined {
    return this.#pools.get(network.name ?? network.caip2) ?? this.#pools.get(network.caip2);
  }
}

/** How one finds out what became of an authorisation. */
interface FateSearch {
  /** A call that tells whether it was used. */
  readonly use: {
    readonly to: string;
    readonly data: string;
    isUsed(answer: bigint): boolean;
    readonly validBefore: bigint;
  };
  readonly find: (node: JsonRpcNode) => Promise<LookUp<AuthorizationFate>>;
}

const unavailable = (cause: unknown): ChainUnavailable =>
  new ChainUnavailable('what became of an authorisation cannot be asked', { cause });

/** What one node knows of an authorisation that was used; absent where it does not show the use. */
async function fateFrom(
  node: JsonRpcNode,
  network: X402Network,
  authorization: TransferAuthorization,
  since: number,
): Promise<LookUp<AuthorizationFate>> {
  const head = evmNumber(await node.call('eth_blockNumber', []));
  const transaction = await useOf(node, network, authorization, head, since);
  if (transaction === undefined) return absent(Number(head));
  const receipt = await node.call('eth_getTransactionReceipt', [transaction]);
  if (receipt === null) throw new ChainUnavailable('the transaction has no receipt yet');
  const isTransferred = transferFollows(receipt, network, authorization);
  return found(
    isTransferred ? { kind: 'transferred', transaction } : { kind: 'used-otherwise' },
    Number(head),
  );
}

/** Of a permit that was used: the transfer of just this amount in a transaction that carries its signature. */
async function permitFateFrom(
  node: JsonRpcNode,
  network: X402Network,
  { from, to, value }: TransferAuthorization,
  signature: string,
  since: number,
): Promise<LookUp<AuthorizationFate>> {
  const head = evmNumber(await node.call('eth_blockNumber', []));
  const proof = signature.slice(2).toLowerCase();
  let looked = 0;
  const topics = [transferTopic, `0x${evmWord(from)}`, `0x${evmWord(to)}`];
  for await (const log of tokenLogs(node, network, { topics, head, since })) {
    const amount = memberOf(log, 'data');
    const transaction = memberOf(log, 'transactionHash');
    if (typeof amount !== 'string' || !isWord(amount) || BigInt(amount) !== value) continue;
    if (typeof transaction !== 'string' || !isWord(transaction)) continue;
    looked += 1;
    if (looked > mostTransactions) break;
    const input = memberOf(await node.call('eth_getTransactionByHash', [transaction]), 'input');
    if (typeof input === 'string' && input.toLowerCase().includes(proof)) {
      return found({ kind: 'transferred', transaction }, Number(head));
    }
  }
  return absent(Number(head));
}

const isWord = (text: string): boolean => /^0x[0-9a-f]{64}$/i.test(text);

/** The transaction that used an authorisation. */
async function useOf(
  node: JsonRpcNode,
  network: X402Network,
  { from, nonce }: TransferAuthorization,
  head: bigint,
  since: number,
): Promise<string | undefined> {
  const topics = [authorizationUsedTopic, `0x${evmWord(from)}`, nonce];
  for await (const log of tokenLogs(node, network, { topics, head, since })) {
    const transaction = memberOf(log, 'transactionHash');
    if (typeof transaction === 'string' && isWord(transaction)) return transaction;
  }
  return undefined;
}

/** Logs of the token, looked for from the newest block backwards. */
function tokenLogs(
  node: JsonRpcNode,
  network: X402Network,
  search: Pick<LogSearch, 'topics' | 'head' | 'since'>,
): AsyncGenerator<unknown> {
  return logsBackwards(node, { address: network.asset, mostSearches, isWhole: false, ...search });
}

/** Those of a receipt that pay the wallet. The token logs the use of an authorisation and, next, the transfer it makes. */
function transfersIn(
  receipt: unknown,
  network: X402Network,
  wallet: string,
): Omit<IncomingTransfer, 'transaction' | 'at'>[] {
  const list = memberOf(receipt, 'logs');
  const logs: unknown[] = Array.isArray(list) ? list : [];
  return logs.flatMap((log, place) => {
    const [event, from, to] = topicsOf(log, network);
    const amount = memberOf(log, 'data');
    if (event !== transferTopic || to !== `0x${evmWord(wallet)}` || from === undefined) return [];
    if (typeof amount !== 'string' || !isWord(amount)) return [];
    const [use, holder, nonce] = topicsOf(logs[place - 1], network);
    const isUse = use === authorizationUsedTopic && holder === from;
    return [{ from: `0x${from.slice(-40)}`, value: BigInt(amount), nonce: isUse ? nonce : undefined }];
  });
}

/** In lower case; none of a log that is not the token's. */
function topicsOf(log: unknown, network: X402Network): string[] {
  const address = memberOf(log, 'address');
  const topics = memberOf(log, 'topics');
  if (typeof address !== 'string' || address.toLowerCase() !== network.asset.toLowerCase()) return [];
  return Array.isArray(topics) ? topics.map((topic) => String(topic).toLowerCase()) : [];
}

/**
 * Whether the authorisation's own transfer is in a receipt: the token logs the use and, next, the transfer it makes.
 * Another transfer of the same transaction may belong to another authorisation.
 */
function transferFollows(
  receipt: unknown,
  network: X402Network,
  authorization: TransferAuthorization,
): boolean {
  const list = memberOf(receipt, 'logs');
  const logs: unknown[] = Array.isArray(list) ? list : [];
  const { from, to, nonce, value } = authorization;
  const use = [authorizationUsedTopic, `0x${evmWord(from)}`, nonce];
  const place = logs.findIndex((log) => isLog(log, network, use));
  const transfer = logs[place + 1];
  if (place < 0 || !isLog(transfer, network, [transferTopic, `0x${evmWord(from)}`, `0x${evmWord(to)}`]))
    return false;
  const amount = memberOf(transfer, 'data');
  return typeof amount === 'string' && /^0x[0-9a-f]{64}$/i.test(amount) && BigInt(amount) === value;
}

function isLog(log: unknown, network: X402Network, topics: readonly string[]): boolean {
  const address = memberOf(log, 'address');
  const own = memberOf(log, 'topics');
  if (typeof address !== 'string' || address.toLowerCase() !== network.asset.toLowerCase()) return false;
  return (
    Array.isArray(own) &&
    own.length === topics.length &&
    own.every((topic, index) => String(topic).toLowerCase() === topics[index])
  );
}
