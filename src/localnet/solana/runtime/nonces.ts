/** Durable nonces: transactions that name the value of a nonce account in the place of a recent blockhash. */
import { createHash } from 'node:crypto';
import { decodeBase58 } from '../../../formats/base58.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { isWritableKey, type Message } from '../../../formats/solana/message.ts';
import { decodeNonce, encodeNonce, nonceAccountSize, nonceText } from '../../../formats/solana/nonce.ts';
import { lamportsPerSignature, systemProgram } from '../../../formats/solana/programs.ts';
import { systemInstruction } from '../../../formats/solana/system.ts';
import type { Account, AccountReader } from '../accounts.ts';

/**
 * The next value of every nonce that a transaction advances. A cluster makes one per block; here a block may hold a
 * transaction and the one that follows on its answer, so each transaction has a value of its own.
 */
export function durableNonce(blockhash: string, sequence: number): Buffer {
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(BigInt(sequence));
  return createHash('sha256')
    .update('DURABLE_NONCE')
    .update(decodeBase58(blockhash, 'blockhash'))
    .update(number)
    .digest();
}

/** The nonce account that lets a message in: its first instruction advances it, and it holds what the message names. */
export function usedNonce(message: Message, accounts: AccountReader): SolanaAddress | undefined {
  const [first] = message.instructions;
  if (first === undefined || message.staticKeys[first.programIndex] !== systemProgram) return undefined;
  if (first.data.length < 4 || first.data.readUInt32LE() !== systemInstruction.advanceNonce) return undefined;
  const place = first.accounts[0];
  if (place === undefined || place >= message.staticKeys.length || !isWritableKey(message, place)) {
    return undefined;
  }
  const address = message.staticKeys[place]!;
  const nonce = nonceOf(accounts.get(address));
  if (nonce === undefined || nonceText(nonce) !== message.blockhash) return undefined;
  const signed = first.accounts.some(
    (index) => index < message.requiredSignatures && message.staticKeys[index] === nonce.authority,
  );
  return signed ? address : undefined;
}

/** What an initialized nonce account holds; undefined for any other account. */
export function nonceOf(account: Account): ReturnType<typeof decodeNonce> {
  if (account.owner !== systemProgram || account.data.length !== nonceAccountSize) return undefined;
  return decodeNonce(account.data);
}

/** The account with its next value: also a transaction that fails uses up its nonce. */
export function advanced(account: Account, value: Buffer): Account {
  const nonce = nonceOf(account);
  if (nonce === undefined) return account;
  return { ...account, data: encodeNonce({ authority: nonce.authority, value, lamportsPerSignature }) };
}
