/** What happened on an EVM chain, read from its newest block backwards: no node lists it otherwise. */
import { memberOf } from '../formats/json.ts';
import type { JsonRpcNode } from './json-rpc.ts';

/** Public nodes search so many blocks at once. */
const blocksAtOnce = 5_000n;
const readAtOnce = 16;

export interface LogSearch {
  /** The contract that logs. */
  readonly address: string;
  readonly topics: readonly (string | null)[];
  /** The newest block. */
  readonly head: bigint;
  /** Unix milliseconds: what is older may be left out. */
  readonly since: number;
  readonly mostSearches: number;
  /** Where the searches do not reach back so far: an error, or the end. */
  readonly isWhole: boolean;
}

export async function* logsBackwards(node: JsonRpcNode, search: LogSearch): AsyncGenerator<unknown> {
  const { address, topics, head, since, mostSearches } = search;
  let toBlock = head;
  for (let searches = 0; searches < mostSearches; searches += 1) {
    const fromBlock = toBlock > blocksAtOnce ? toBlock - blocksAtOnce : 0n;
    const blocks = { fromBlock: evmHex(fromBlock), toBlock: searches === 0 ? 'latest' : evmHex(toBlock) };
    const logs = await node.call('eth_getLogs', [{ address, topics, ...blocks }]);
    if (Array.isArray(logs)) yield* logs;
    else if (search.isWhole) throw new Error('the endpoint listed no logs');
    if (fromBlock === 0n) return;
    if (timeOf(await node.call('eth_getBlockByNumber', [evmHex(fromBlock), false])) < since) return;
    toBlock = fromBlock - 1n;
  }
  if (search.isWhole) throw tooLong();
}

export interface EvmBlock {
  /** Unix milliseconds. */
  readonly at: number;
  readonly transactions: readonly unknown[];
}

/** Every block since then, with its transactions. */
export async function* blocksBackwards(
  node: JsonRpcNode,
  { since, most }: { readonly since: number; readonly most: number },
): AsyncGenerator<EvmBlock> {
  let next = evmNumber(await node.call('eth_blockNumber', []));
  for (let read = 0; read < most; read += readAtOnce) {
    const numbers = Array.from({ length: readAtOnce }, (_, index) => next - BigInt(index));
    const asked = numbers.filter((number) => number >= 0n);
    const blocks = await Promise.all(
      asked.map((number) => node.call('eth_getBlockByNumber', [evmHex(number), true])),
    );
    for (const block of blocks) {
      const at = timeOf(block);
      if (at < since) return;
      const transactions = memberOf(block, 'transactions');
      if (!Array.isArray(transactions)) throw new Error('the endpoint answered a block without transactions');
      yield { at, transactions };
    }
    next -= BigInt(readAtOnce);
    if (next < 0n) return;
  }
  throw tooLong();
}

const tooLong = (): Error => new Error('that is longer ago than the chain is searched: ask for a later time');

/** Of a block, in unix milliseconds. */
export const timeOf = (block: unknown): number => Number(evmNumber(memberOf(block, 'timestamp'))) * 1000;

/** A number as the protocol writes it. */
export function evmNumber(answer: unknown): bigint {
  if (typeof answer === 'string' && /^0x[0-9a-f]{1,16}$/i.test(answer)) return BigInt(answer);
  throw new Error('the endpoint answered no number');
}

export const evmHex = (value: bigint): string => `0x${value.toString(16)}`;

/** An address as the 32-byte word that topics and calls have. */
export const evmWord = (address: string): string => address.slice(2).toLowerCase().padStart(64, '0');
