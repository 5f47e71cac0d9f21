/** An EVM chain as far as payments are read from it: transactions with their receipts, by JSON-RPC. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { transferTopic } from '../../src/formats/evm-events.ts';

/** USDC on Base, as its issuer deployed it. */
export const baseUsdc = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
/** What development chains call themselves. */
const localChainId = 31_337;

export interface EvmTransaction {
  readonly hash: string;
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
  readonly input: Buffer;
  /** Transfers of USDC that it made. */
  readonly transfers?: readonly { readonly from: string; readonly to: string; readonly value: bigint }[];
}

const word = (value: bigint | string): string =>
  (typeof value === 'bigint' ? value.toString(16) : value.slice(2).toLowerCase()).padStart(64, '0');
const quantity = (value: bigint | number): string => `0x${value.toString(16)}`;

/** `transfer(to, value)` of the token, with what the payer writes behind it. */
export function transferCall(to: string, value: bigint, memo = ''): Buffer {
  return Buffer.concat([Buffer.from(`a9059cbb${word(to)}${word(value)}`, 'hex'), Buffer.from(memo)]);
}

export class EvmChain {
  readonly #server: Server;
  readonly #transactions = new Map<string, EvmTransaction & { readonly height: number }>();
  #height = 100;

  constructor() {
    this.#server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      request.on('end', () => {
        const asked: { id: unknown; method: string; params: unknown[] } = JSON.parse(text);
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: this.#answer(asked.method, asked.params) }),
        );
      });
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** Mined, and a hundred blocks deep at once. */
  mine(transaction: EvmTransaction): void {
    this.#transactions.set(transaction.hash, { ...transaction, height: this.#height });
    this.#height += 100;
  }

  #answer(method: string, params: readonly unknown[]): unknown {
    if (method === 'eth_blockNumber') return quantity(this.#height);
    if (method === 'eth_chainId') return quantity(localChainId);
    if (method === 'eth_getCode') return '0x';
    const found = this.#transactions.get(String(params[0]));
    if (found === undefined) return null;
    const place = { blockNumber: quantity(found.height), transactionIndex: '0x0' };
    const parties = { from: found.from.toLowerCase(), to: found.to.toLowerCase() };
    if (method === 'eth_getTransactionByHash') {
      const input = `0x${found.input.toString('hex')}`;
      return { ...place, ...parties, hash: found.hash, value: quantity(found.value), input };
    }
    if (method !== 'eth_getTransactionReceipt') return null;
    const logs = (found.transfers ?? []).map(({ from, to, value }, index) => ({
      ...place,
      address: baseUsdc.toLowerCase(),
      logIndex: quantity(index),
      topics: [transferTopic, `0x${word(from)}`, `0x${word(to)}`],
      data: `0x${word(value)}`,
    }));
    return { ...place, ...parties, transactionHash: found.hash, status: '0x1', logs };
  }
}
