/**
 * The little of an EVM node's JSON-RPC that tells what became of a payment: `eth_call` of `authorizationState`
 * and `balanceOf` on the token and of `nonceBitmap` on Permit2, `eth_getLogs` of its `AuthorizationUsed` and `Transfer`,
 * such a transaction and its receipt, the chain's id and height. So whoever looks a payment up on the real chain looks it
 * up here with the same code. Whoever has the token sends it on by a transaction (`transfer`), which costs nothing: there
 * is no other coin here.
 */

import { Type } from 'typebox';
import { authorizationUsedTopic, transferTopic } from '../../formats/evm-events.ts';
import { memberOf } from '../../formats/json.ts';
import type { X402Network } from '../../formats/x402/networks.ts';
import { nonceBitmapSelector, permit2Contract, upToContract } from '../../formats/x402/permit2.ts';
import { HttpError } from '../../kernel/errors.ts';
import type { App } from '../../kernel/http/server.ts';
import { readTransfer } from '../../wallets/ethereum/transaction.ts';
import { type TokenLedger, type Transfer, TransferRefused } from './token-ledger.ts';
import type { Facilitator } from './verification.ts';

/** What the token's transfers take elsewhere. */
const transferGas = 65_000;

const RpcParams = Type.Object({ network: Type.String({ maxLength: 100 }) });
const RpcBody = Type.Object({
  jsonrpc: Type.Literal('2.0'),
  id: Type.Union([Type.Integer(), Type.String({ maxLength: 100 }), Type.Null()]),
  method: Type.String({ maxLength: 100 }),
  params: Type.Optional(Type.Array(Type.Unknown(), { maxItems: 4 })),
});

class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export function rpcRoutes(app: App, facilitator: Facilitator): void {
  app.post('/rpc/:network', { schema: { params: RpcParams, body: RpcBody, hide: true } }, async (request) => {
    const { body, params } = request;
    const network = facilitator.networks.find(({ name, caip2 }) => [name, caip2].includes(params.network));
    if (network === undefined) throw new HttpError(404, 'Unknown network');
    const head = { jsonrpc: '2.0', id: body.id };
    try {
      return { ...head, result: await answer(facilitator, network, body.method, body.params ?? []) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { ...head, error: { code: error.code, message: error.message } };
    }
  });
}

async function answer(
  { ledger, now }: Facilitator,
  network: X402Network,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  switch (method) {
    case 'eth_chainId':
      return hex(network.chainId);
    case 'eth_blockNumber':
      return hex(await ledger.height(network.caip2));
    case 'eth_getBlockByNumber':
      // Nothing is mined here, so that the newest block is always of now.
      return { number: hex(await ledger.height(network.caip2)), timestamp: hex(Math.floor(now() / 1000)) };
    case 'eth_call':
      return call(ledger, network, memberOf(params[0], 'to'), memberOf(params[0], 'data'));
    case 'eth_getLogs':
      return logs(ledger, network, params[0]);
    case 'eth_getTransactionCount':
      return hex(await ledger.sent(network.caip2, String(params[0]), heightOf(params[1])));
    case 'eth_gasPrice':
    case 'eth_getBalance':
      return '0x0';
    case 'eth_estimateGas':
      return estimateGas(ledger, network, params[0]);
    case 'eth_sendRawTransaction':
      return sendRaw(ledger, network, params[0]);
    case 'eth_getTransactionByHash':
      return transactionByHash(ledger, network, params[0]);
    case 'eth_getTransactionReceipt':
      return receipt(ledger, network, params[0]);
    default:
      throw new RpcError(-32601, `the method ${method} does not exist`);
  }
}

async function call(ledger: TokenLedger, network: X402Network, to: unknown, data: unknown): Promise<string> {
  if (typeof to !== 'string' || typeof data !== 'string') throw new RpcError(-32602, 'invalid call');
  // An address without code answers nothing, whatever it is asked.
  if (to.toLowerCase() === permit2Contract.toLowerCase()) return permit2Call(ledger, network, data);
  if (to.toLowerCase() !== network.asset.toLowerCase()) return '0x';
  const state = /^0xe94a01020{24}([0-9a-f]{40})([0-9a-f]{64})$/i.exec(data);
  if (state !== null) {
    const used = await ledger.transferOf(network.caip2, `0x${state[1]}`, `0x${state[2]}`.toLowerCase());
    return word(used === undefined ? 0n : 1n);
  }
  const balance = /^0x70a082310{24}([0-9a-f]{40})$/i.exec(data);
  if (balance !== null) return word(await ledger.balance(network.caip2, `0x${balance[1]}`));
  throw new RpcError(3, 'execution reverted');
}

async function permit2Call(ledger: TokenLedger, network: X402Network, data: string): Promise<string> {
  const [, holder, place] = bitmapCall.exec(data) ?? [];
  if (holder === undefined || place === undefined) throw new RpcError(3, 'execution reverted');
  return word(await ledger.usedNonces(network.caip2, `0x${holder}`, BigInt(`0x${place}`)));
}

const bitmapCall = new RegExp(`^${nonceBitmapSelector}0{24}([0-9a-f]{40})([0-9a-f]{64})$`, 'i');

/** Two questions: was this authorisation of this holder used, and what did one address, or any, give another? */
async function logs(ledger: TokenLedger, network: X402Network, filter: unknown): Promise<unknown[]> {
  const topics = memberOf(filter, 'topics');
  if (!Array.isArray(topics)) throw new RpcError(-32602, 'topics are needed');
  const [event, holder, nonce]: unknown[] = topics;
  if (typeof nonce !== 'string') return [];
  const from = typeof holder === 'string' ? `0x${holder.slice(-40)}` : undefined;
  if (event === transferTopic) {
    const to = `0x${nonce.slice(-40)}`;
    const heights = { first: heightIn(filter, 'fromBlock', 0), last: heightIn(filter, 'toBlock', latest) };
    const given = await ledger.transfersBetween(network.caip2, { from, to }, heights);
    return given.flatMap((transfer) => logsOf(network, transfer).slice(-1));
  }
  if (event !== authorizationUsedTopic || from === undefined) return [];
  const transfer = await ledger.transferOf(network.caip2, from, nonce.toLowerCase());
  return transfer === undefined ? [] : logsOf(network, transfer).slice(0, 1);
}

/** A block that is named by its number; undefined: the newest. */
const heightOf = (block: unknown): number | undefined =>
  typeof block === 'string' && /^0x[0-9a-f]{1,12}$/i.test(block) ? Number(block) : undefined;

/** Whom a call of the token's `transfer` pays, and how much. */
function transferOf(network: X402Network, to: unknown, data: unknown) {
  if (typeof to !== 'string' || to.toLowerCase() !== network.asset.toLowerCase()) return undefined;
  const call = /^0xa9059cbb0{24}([0-9a-f]{40})([0-9a-f]{64})$/i.exec(String(data));
  return call === null ? undefined : { to: `0x${call[1]}`, value: BigInt(`0x${call[2]}`) };
}

async function estimateGas(ledger: TokenLedger, network: X402Network, call: unknown): Promise<string> {
  const transfer = transferOf(network, memberOf(call, 'to'), memberOf(call, 'data'));
  const held = await ledger.balance(network.caip2, String(memberOf(call, 'from')));
  if (transfer === undefined || transfer.value > held) throw new RpcError(3, 'execution reverted');
  return hex(transferGas);
}

/** Only transfers of the token; one that would be reverted is refused, where a chain would take its fee. */
async function sendRaw(ledger: TokenLedger, network: X402Network, raw: unknown): Promise<string> {
  const sent = typeof raw === 'string' ? readTransfer(raw) : undefined;
  if (sent === undefined) throw new RpcError(-32602, 'no signed transaction of type 2');
  if (sent.chainId !== network.chainId) throw new RpcError(-32000, 'invalid chain id');
  const transfer = transferOf(network, sent.to, sent.data);
  if (transfer === undefined) throw new RpcError(3, 'execution reverted');
  const { from, nonce: number, hash: transaction } = sent;
  try {
    await ledger.send(network.caip2, { from, number, ...transfer, transaction });
    return transaction;
  } catch (error) {
    if (!(error instanceof TransferRefused)) throw error;
    throw error.kind === 'nonce'
      ? new RpcError(-32000, 'nonce is not the next one')
      : new RpcError(3, 'execution reverted');
  }
}

/** Of those that their senders sent; who sent the others, the facilitator does not say. */
async function transactionByHash(ledger: TokenLedger, network: X402Network, hash: unknown): Promise<unknown> {
  const transfer = await ledger.transferIn(network.caip2, String(hash).toLowerCase());
  if (transfer === undefined) return null;
  const { height, transaction } = transfer;
  return { hash: transaction, value: '0x0', blockNumber: hex(height), ...calledBy(network, transfer) };
}

/** Who called which contract with what; of an authorisation, which a facilitator carries out, that is not kept. */
function calledBy(network: X402Network, transfer: Transfer): Record<string, string> {
  if (transfer.input !== undefined) return { to: upToContract, input: transfer.input };
  if (!isSent(transfer)) return { to: network.asset, input: '0x' };
  const { from, to, value } = transfer;
  const input = `0xa9059cbb${word(BigInt(to)).slice(2)}${word(value).slice(2)}`;
  return { from, to: network.asset, input };
}

const isSent = ({ nonce }: Transfer): boolean => nonce.startsWith('#');

async function receipt(ledger: TokenLedger, network: X402Network, hash: unknown): Promise<unknown> {
  if (typeof hash !== 'string') throw new RpcError(-32602, 'a hash is needed');
  const transfer = await ledger.transferIn(network.caip2, hash.toLowerCase());
  if (transfer === undefined) return null;
  return {
    transactionHash: transfer.transaction,
    blockNumber: hex(transfer.height),
    status: '0x1',
    logs: logsOf(network, transfer),
  };
}

const latest = Number.MAX_SAFE_INTEGER;

function heightIn(filter: unknown, end: string, otherwise: number): number {
  const height = memberOf(filter, end);
  return typeof height === 'string' && /^0x[0-9a-f]{1,12}$/i.test(height) ? Number(height) : otherwise;
}

/** As the token writes them: that the authorisation is used, where it keeps it itself, then the transfer. */
function logsOf(network: X402Network, transfer: Transfer): unknown[] {
  const { from, to, nonce, value, height, transaction, input } = transfer;
  const use = { topics: [authorizationUsedTopic, word(BigInt(from)), nonce], data: '0x' };
  const events = [
    ...(isSent(transfer) || input !== undefined ? [] : [use]),
    { topics: [transferTopic, word(BigInt(from)), word(BigInt(to))], data: word(value) },
  ];
  return events.map((event, index) => ({
    address: network.asset,
    ...event,
    blockNumber: hex(height),
    transactionHash: transaction,
    logIndex: hex(index),
    removed: false,
  }));
}

const hex = (value: number) => `0x${value.toString(16)}`;
const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`;
