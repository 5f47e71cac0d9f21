/**
 * Back on Ethereum and its kin, in the coin or in a token: a transaction with the next number of its sender. One that is
 * not found can only be given up when another with its number is in a block that is final.
 */
import { memberOf } from '../../../formats/json.ts';
import { OutsideUnavailable } from '../../../outside/http.ts';
import { type JsonRpcPool, RpcRefused } from '../../../outside/json-rpc.ts';
import { absent, found } from '../../../outside/look-up.ts';
import { signTransfer } from '../../../wallets/ethereum/transaction.ts';
import { CannotSend, type WayBack } from '../returns.ts';

export interface EvmSender {
  readonly address: string;
  readonly privateKey: Uint8Array;
}

export interface EvmWayOptions {
  readonly endpoints: JsonRpcPool;
  /** What the chain is called among ours: transfers of one key on it follow each other. */
  readonly chain: string;
  readonly key: EvmSender;
  readonly minConfirmations: number;
  /** Of the token; the chain's coin without it. */
  readonly contract?: string | undefined;
}

/** Wallets that are contracts need more than the 21,000 of a plain transfer; nobody is sent more than this. */
const mostGas = 300_000n;

export function evmWay({ endpoints, chain, key, minConfirmations, contract }: EvmWayOptions): WayBack {
  return {
    queue: `${chain}:${key.address}`,

    async prepare({ amount, recipient }) {
      const call = callOf(recipient, amount, contract);
      const chainId = Number(quantity(await ask('eth_chainId', [])));
      const nonce = quantity(await ask('eth_getTransactionCount', [key.address, 'latest']));
      const gas = quantity(
        await ask('eth_estimateGas', [{ from: key.address, ...call, value: hex(call.value) }]),
      );
      if (gas > mostGas) throw new CannotSend(`the transfer would take ${gas} gas`);
      const price = quantity(await ask('eth_gasPrice', []));
      const most = call.value + ((gas * 12n) / 10n) * price * 2n;
      const balance = quantity(await ask('eth_getBalance', [key.address, 'latest']));
      if (balance < most) throw new CannotSend(`the wallet has ${balance} wei, and ${most} are needed`);
      const signed = signTransfer(
        {
          ...{ chainId, nonce, ...call },
          gasLimit: (gas * 12n) / 10n,
          // Twice the price of now: blocks may get dearer before it is in one. What is not needed is not paid.
          maxFeePerGas: price * 2n,
          maxPriorityFeePerGas: price / 10n,
        },
        key.privateKey,
      );
      return { reference: signed.hash, wire: signed.raw, validUntil: Number(nonce) };
    },

    async deliver({ id, reference, wire, validUntil: nonce }) {
      if (reference === undefined || wire === undefined || nonce === undefined) {
        throw new Error(`return ${id} was sent without a transaction`);
      }
      const receipt = await lookUpReceipt(reference);
      if (receipt.state === 'found') {
        if (!receipt.value.isFinal) return { state: 'waiting' };
        return receipt.value.isGood
          ? { state: 'confirmed' }
          : { state: 'void', reason: 'the transaction was reverted' };
      }
      if (receipt.state === 'absent' && (await isNumberTaken(nonce, reference))) {
        return { state: 'void', reason: 'another transaction took its number' };
      }
      // Refused where it is known already, or its number is taken: what became of it, only the chain tells.
      await endpoints.call('eth_sendRawTransaction', [wire], { acts: true }).catch(ignoreAnswer);
      return { state: 'waiting' };
    },

    close: () => endpoints.close(),
  };

  /** Absent only where every node says so. */
  function lookUpReceipt(hash: string) {
    return endpoints.lookUp(async (node) => {
      const head = quantity(await node.call('eth_blockNumber', []));
      const receipt = await node.call('eth_getTransactionReceipt', [hash]);
      if (receipt === null) return absent(Number(head));
      const height = quantity(memberOf(receipt, 'blockNumber'));
      const isFinal = head - height + 1n >= BigInt(minConfirmations);
      return found({ isFinal, isGood: memberOf(receipt, 'status') === '0x1' }, Number(head));
    });
  }

  /** Whether its number was used, deep enough that no fork frees it, by something that is not it. */
  async function isNumberTaken(nonce: number, hash: string): Promise<boolean> {
    const head = quantity(await ask('eth_blockNumber', []));
    const depth = head - BigInt(minConfirmations);
    if (depth < 0n) return false;
    const used = quantity(await ask('eth_getTransactionCount', [key.address, hex(depth)]));
    // Asked once more: it may have come into a block between the two questions.
    return used > BigInt(nonce) && (await lookUpReceipt(hash)).state === 'absent';
  }

  function ask(method: string, params: readonly unknown[]): Promise<unknown> {
    return endpoints.call(method, params).catch((error: unknown) => {
      if (error instanceof RpcRefused) throw new CannotSend(`${method}: ${error.message}`, { cause: error });
      if (!(error instanceof OutsideUnavailable)) throw error;
      throw new CannotSend(`the chain does not answer ${method}`, { cause: error });
    });
  }
}

/** `transfer(address,uint256)` of a token, or the coin itself. */
function callOf(to: string, amount: bigint, contract: string | undefined) {
  if (contract === undefined) return { to, value: amount, data: '0x' };
  const words = to.slice(2).toLowerCase().padStart(64, '0') + amount.toString(16).padStart(64, '0');
  return { to: contract, value: 0n, data: `0xa9059cbb${words}` };
}

function quantity(answer: unknown): bigint {
  if (typeof answer === 'string' && /^0x[0-9a-f]{1,64}$/i.test(answer)) return BigInt(answer);
  throw new CannotSend('the chain answered a number with nonsense');
}

const hex = (value: bigint) => `0x${value.toString(16)}`;

function ignoreAnswer(error: unknown): void {
  if (!(error instanceof OutsideUnavailable) && !(error instanceof RpcRefused)) throw error;
}
