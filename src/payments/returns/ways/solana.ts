/** Back on Solana, in lamports or in a token: a transaction that names a recent block, and dies with it. */
import { encodeBase58 } from '../../../formats/base58.ts';
import { isCount, isRecord, memberOf, textOf } from '../../../formats/json.ts';
import { parseSolanaAddress, type SolanaAddress } from '../../../formats/solana/address.ts';
import { compileMessage, type Instruction } from '../../../formats/solana/message.ts';
import { memo, transferLamports } from '../../../formats/solana/system.ts';
import {
  associatedTokenAddress,
  createAssociatedTokenAccount,
  transferToken,
} from '../../../formats/solana/token.ts';
import { serializeTransaction } from '../../../formats/solana/transaction.ts';
import { OutsideUnavailable } from '../../../outside/http.ts';
import { type JsonRpcPool, RpcRefused } from '../../../outside/json-rpc.ts';
import { absent, found, type LookUp } from '../../../outside/look-up.ts';
import { CannotSend, type WayBack } from '../returns.ts';

/** A key that pays and signs. */
export interface SolanaSender {
  readonly address: SolanaAddress;
  sign(message: Uint8Array): Buffer;
}

export interface SolanaWayOptions {
  readonly endpoints: JsonRpcPool;
  readonly key: SolanaSender;
  /** Of the token; lamports without it. */
  readonly mint?: SolanaAddress | undefined;
}

export function solanaWay({ endpoints, key, mint }: SolanaWayOptions): WayBack {
  return {
    async prepare({ id, amount, recipient }) {
      const { value } = answerOf(await ask('getLatestBlockhash', [{ commitment: 'confirmed' }]));
      const blockhash = textOf(value, 'blockhash');
      const validUntil = memberOf(value, 'lastValidBlockHeight');
      if (blockhash === undefined || !isCount(validUntil)) throw new CannotSend('Solana answers nonsense');
      const to = parseSolanaAddress(recipient);
      const message = compileMessage({
        ...{ feePayer: key.address, blockhash },
        // The memo makes two returns of one amount two transactions.
        instructions: [...transfer(to, amount), memo(`return ${id}`, key.address)],
      });
      const wire = serializeTransaction([key.sign(message)], message).toString('base64');
      await simulate(wire);
      return { reference: encodeBase58(key.sign(message)), wire, validUntil };
    },

    async deliver({ id, reference, wire, validUntil }) {
      if (reference === undefined || wire === undefined || validUntil === undefined) {
        throw new Error(`return ${id} was sent without a transaction`);
      }
      const known = await status(reference);
      if (known.state === 'found') {
        if (known.value === 'failed') return { state: 'void', reason: 'the transaction failed' };
        return { state: known.value === 'final' ? 'confirmed' : 'waiting' };
      }
      if (known.state === 'absent' && (await isOver(reference, validUntil))) {
        return { state: 'void', reason: 'the network did not take the transaction' };
      }
      const options = { encoding: 'base64', skipPreflight: true, maxRetries: 0 };
      await endpoints.call('sendTransaction', [wire, options], { acts: true }).catch(unlessRefused);
      return { state: 'waiting' };
    },

    close: () => endpoints.close(),
  };

  function transfer(to: SolanaAddress, amount: bigint): Instruction[] {
    if (mint === undefined) return [transferLamports(key.address, to, amount)];
    const [from, into] = [associatedTokenAddress(key.address, mint), associatedTokenAddress(to, mint)];
    return [
      createAssociatedTokenAccount(key.address, to, mint),
      transferToken(from, into, key.address, amount),
    ];
  }

  /** What would fail is not sent: most likely the wallet has not enough. */
  async function simulate(wire: string): Promise<void> {
    const options = { encoding: 'base64', sigVerify: false, commitment: 'confirmed' };
    const { value } = answerOf(await ask('simulateTransaction', [wire, options]));
    const error = memberOf(value, 'err');
    if (error === null || error === undefined) return;
    throw new CannotSend(`the transaction would fail: ${JSON.stringify(error).slice(0, 200)}`);
  }

  /** Absent only where every node says so. */
  function status(signature: string): Promise<LookUp<'pending' | 'final' | 'failed'>> {
    return endpoints.lookUp(async (node) => {
      const answer = await node.call('getSignatureStatuses', [
        [signature],
        { searchTransactionHistory: true },
      ]);
      const slot = memberOf(memberOf(answer, 'context'), 'slot');
      const list = memberOf(answer, 'value');
      if (!isCount(slot) || !Array.isArray(list)) throw new Error('the endpoint answered no status');
      const [one]: unknown[] = list;
      if (!isRecord(one)) return absent(slot);
      const level = one.confirmationStatus;
      if (level !== 'finalized') return found('pending', slot);
      return found(one.err === null || one.err === undefined ? 'final' : 'failed', slot);
    });
  }

  /** A block that no fork can undo lies beyond the last one that may hold it, and every node that came so far lacks it. */
  async function isOver(reference: string, validUntil: number): Promise<boolean> {
    const epoch = await ask('getEpochInfo', [{ commitment: 'finalized' }]);
    const [slot, height] = [memberOf(epoch, 'absoluteSlot'), memberOf(epoch, 'blockHeight')];
    if (!isCount(slot) || !isCount(height) || height <= validUntil) return false;
    const known = await status(reference);
    return known.state === 'absent' && known.at >= slot;
  }

  async function ask(method: string, params: readonly unknown[]): Promise<unknown> {
    return endpoints.call(method, params).catch((error: unknown) => {
      if (error instanceof OutsideUnavailable || error instanceof RpcRefused) {
        throw new CannotSend(`Solana does not answer ${method}`, { cause: error });
      }
      throw error;
    });
  }
}

const answerOf = (answer: unknown): { value: unknown } => ({ value: memberOf(answer, 'value') });

/** Whether it was taken, only its status tells. */
function unlessRefused(error: unknown): void {
  if (error instanceof OutsideUnavailable || error instanceof RpcRefused) return;
  throw error;
}
