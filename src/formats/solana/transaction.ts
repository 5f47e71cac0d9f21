/** Wire transactions: signatures in front of the message they sign. */
import { encodeBase58 } from '../base58.ts';
import { FormatError } from '../format-error.ts';
import type { SolanaAddress } from './address.ts';
import { Reader, Writer } from './bytes.ts';
import { type Message, parseMessage } from './message.ts';

/** What fits one network packet: 1280 bytes of the smallest IPv6 MTU less 48 of headers (interface §8). */
export const maxTransactionBytes = 1232;
/** The same bytes in padded base64. */
export const maxTransactionBase64 = 1644;
const signatureLength = 64;

export interface Transaction {
  readonly signatures: readonly Buffer[];
  /** Exactly the bytes the signatures cover. */
  readonly messageBytes: Buffer;
  readonly message: Message;
}

export function parseTransaction(bytes: Uint8Array): Transaction {
  const reader = new Reader(bytes);
  const count = reader.compactU16();
  if (count * signatureLength > reader.remaining) throw new FormatError('the signatures end too early');
  const signatures = Array.from({ length: count }, () => reader.take(signatureLength));
  const messageBytes = reader.take(reader.remaining);
  const message = parseMessage(messageBytes);
  if (count !== message.requiredSignatures) {
    throw new FormatError(`${message.requiredSignatures} signatures are needed, ${count} are given`);
  }
  return { signatures, messageBytes, message };
}

export function serializeTransaction(signatures: readonly Uint8Array[], messageBytes: Uint8Array): Buffer {
  const writer = new Writer().compactU16(signatures.length);
  for (const signature of signatures) {
    if (signature.length !== signatureLength) throw new FormatError('a signature has 64 bytes');
    writer.bytes(signature);
  }
  return writer.bytes(messageBytes).finish();
}

/** The signature by which a chain knows the transaction: the fee payer's. */
export function transactionId(transaction: Transaction): string {
  return encodeBase58(transaction.signatures[0]!);
}

/** The addresses that must sign, in the order of the signatures. */
export function signersOf(message: Message): readonly SolanaAddress[] {
  return message.keys.slice(0, message.requiredSignatures);
}

/** The same transaction with every slot empty. */
export function unsignedTransaction(wire: Uint8Array): Buffer {
  const { signatures, messageBytes } = parseTransaction(wire);
  return serializeTransaction(
    signatures.map(() => emptySignature),
    messageBytes,
  );
}

/** A signature slot that is not filled yet. */
export const emptySignature: Buffer = Buffer.alloc(signatureLength);
