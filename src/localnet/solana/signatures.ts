/** Checks the signatures of transactions off the event loop; keys of frequent signers are kept parsed. */
import { type KeyObject, verify } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { addressBytes, type SolanaAddress } from '../../formats/solana/address.ts';
import { signersOf, type Transaction } from '../../formats/solana/transaction.ts';
import { atMost } from '../../kernel/at-most.ts';
import { ed25519PublicKey } from '../../wallets/solana/ed25519.ts';

const keys = new LRUCache<SolanaAddress, KeyObject>(atMost(10_000));

export async function signaturesHold(transaction: Transaction): Promise<boolean> {
  const { signatures, messageBytes, message } = transaction;
  const signers = signersOf(message);
  const checks = signers.map((signer, index) => holds(signer, messageBytes, signatures[index]!));
  return (await Promise.all(checks)).every((valid) => valid);
}

function holds(signer: SolanaAddress, message: Buffer, signature: Buffer): Promise<boolean> {
  const key = keyOf(signer);
  if (key === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    verify(null, message, key, signature, (error, valid) => resolve(error === null && valid));
  });
}

function keyOf(signer: SolanaAddress): KeyObject | undefined {
  const known = keys.get(signer);
  if (known !== undefined) return known;
  const key = ed25519PublicKey(addressBytes(signer));
  if (key !== undefined) keys.set(signer, key);
  return key;
}
