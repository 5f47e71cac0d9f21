/** Moves AR from one wallet to another: a transaction without data. */
import { newTransaction } from '../formats/arweave/transaction.ts';
import { transactionToJson } from '../formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../formats/arweave/transaction-signature.ts';
import { type ArweaveAddress, decodeBase64url, toTxId } from '../formats/base64url.ts';
import { StartupError } from '../kernel/errors.ts';
import type { ArweaveKey } from '../wallets/arweave/rsa.ts';
import type { NodeClient } from './node-client.ts';

export interface Sent {
  readonly id: string;
  readonly winston: bigint;
  readonly fee: bigint;
}

/** `all` is everything but the fee. Nothing is sent when the wallet has not enough for both. */
export async function sendAr(
  node: NodeClient,
  from: ArweaveKey,
  to: ArweaveAddress,
  amount: bigint | 'all',
): Promise<Sent> {
  if (from.address === to) throw new StartupError('that is the wallet itself');
  const balance = BigInt(await node.get(`/wallet/${from.address}/balance`));
  const fee = BigInt(await node.get(`/price/0/${to}`));
  const winston = amount === 'all' ? balance - fee : amount;
  if (winston <= 0n || winston + fee > balance) {
    throw new StartupError(`${from.address} has ${balance} winston, which is not enough (the fee is ${fee})`);
  }
  const unsigned = newTransaction({
    lastTx: decodeBase64url(await node.get('/tx_anchor')),
    reward: fee,
    target: decodeBase64url(to),
    quantity: winston,
  });
  const transaction = await signTransactionAsync(unsigned, from.privateKey);
  await node.post('/tx', transactionToJson(transaction, 'header'));
  return { id: toTxId(transaction.id), winston, fee };
}
