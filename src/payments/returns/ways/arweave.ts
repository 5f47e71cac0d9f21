/** Back in AR: a transaction without data, good for the blocks that follow its anchor. */
import { newTransaction } from '../../../formats/arweave/transaction.ts';
import { parseTransactionJson, transactionToJson } from '../../../formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../../formats/arweave/transaction-signature.ts';
import { decodeBase64url, toTxId } from '../../../formats/base64url.ts';
import { tryParseJson } from '../../../formats/json.ts';
import { ArweaveNodes, NodeRefused, NodeUnavailable } from '../../../outside/arweave/nodes.ts';
import type { ArweaveKey } from '../../../wallets/arweave/rsa.ts';
import { CannotSend, type WayBack } from '../returns.ts';

/** A transaction may be mined in so many blocks after its anchor's. */
const anchorLife = 50;
/** Blocks that a fork may replace: beyond them, what is not there will not be. */
const forkDepth = 18;

export interface ArweaveWayOptions {
  readonly nodes: readonly string[];
  readonly key: ArweaveKey;
  readonly minConfirmations: number;
}

export function arweaveWay({ nodes: urls, key, minConfirmations }: ArweaveWayOptions): WayBack {
  const nodes = new ArweaveNodes(urls);
  return {
    async prepare({ id, amount, recipient }) {
      const [fee, balance, { anchor, height }] = await Promise.all([
        nodes.transferFee(recipient),
        nodes.balance(key.address),
        nodes.anchor(),
      ]).catch(cannotAsk);
      if (balance < amount + fee) {
        throw new CannotSend(`the wallet has ${balance} winston, and ${amount + fee} are needed`);
      }
      const unsigned = newTransaction({
        ...{ lastTx: anchor, reward: fee, target: decodeBase64url(recipient), quantity: amount },
        tags: [{ name: 'Return-Id', value: id }],
      });
      const signed = await signTransactionAsync(unsigned, key.privateKey);
      return {
        reference: toTxId(signed.id),
        wire: JSON.stringify(transactionToJson(signed, 'header')),
        validUntil: height + anchorLife + forkDepth,
      };
    },

    async deliver({ id, reference, wire, validUntil }) {
      if (reference === undefined || wire === undefined || validUntil === undefined) {
        throw new Error(`return ${id} was sent without a transaction`);
      }
      const status = await nodes.txStatus(reference);
      if (status.state === 'found') {
        const { value } = status;
        const isFinal = value.state === 'mined' && value.confirmations >= minConfirmations;
        return { state: isFinal ? 'confirmed' : 'waiting' };
      }
      if (status.state === 'absent' && status.at > validUntil) {
        return { state: 'void', reason: 'the network did not take the transaction' };
      }
      const transaction = parseTransactionJson(tryParseJson(wire));
      await nodes.postTransaction(transactionToJson(transaction, 'header')).catch((error: unknown) => {
        // A refusal says nothing of other nodes that had it before: only its absence, once its time is over, does.
        if (!(error instanceof NodeRefused)) cannotAsk(error);
      });
      return { state: 'waiting' };
    },

    close: () => nodes.close(),
  };
}

function cannotAsk(error: unknown): never {
  if (!(error instanceof NodeUnavailable)) throw error;
  throw new CannotSend('no Arweave node answers', { cause: error });
}
