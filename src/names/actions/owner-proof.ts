/**
 * The owner's proof of a record action (interface §5): an Ed25519 signature over the action and every field it
 * carries, followed by a nonce of its own.
 */
import { decodeBase64url } from '../../formats/base64url.ts';
import { type SolanaAddress, toSolanaAddress } from '../../formats/solana/address.ts';
import { verifyMessage } from '../../wallets/message-signature.ts';
import { signatureRequired, unboundSignature } from '../errors.ts';
import type { RecordRequest } from './action.ts';

/** Stands for a field that is cleared or left out: published clients sign both the same. */
const absent = '\u0000';
/** Stands for a field that is left out, where a client tells it from a cleared one. */
const untouched = '\u0002';
const keywordSeparator = '\u0001';

export interface OwnerProof {
  readonly publicKey: string;
  readonly nonce: string;
  readonly signature: string;
}

type HeaderValue = string | string[] | undefined;

/** The headers of a proof, or the refusal that says they are needed. */
export function readOwnerProof(headers: Readonly<Record<string, HeaderValue>>): OwnerProof {
  const publicKey = headers['x-owner-public-key'];
  const nonce = headers['x-owner-nonce'];
  const signature = headers['x-owner-signature'];
  const type = headers['x-owner-signature-type'];
  if (typeof publicKey !== 'string' || typeof nonce !== 'string' || typeof signature !== 'string') {
    throw signatureRequired();
  }
  if (nonce === '' || nonce.length > 256) throw unboundSignature();
  if (type !== undefined && type !== '4') throw unboundSignature();
  return { publicKey, nonce, signature };
}

/** The address that signed, for exactly this request; refuses anything else. */
export function verifyOwnerProof(request: RecordRequest, proof: OwnerProof): SolanaAddress {
  const publicKey = bytesOf(proof.publicKey, 32);
  const signature = bytesOf(proof.signature, 64);
  for (const message of proofMessages(request)) {
    const bytes = Buffer.from(message + proof.nonce);
    if (verifyMessage(2, publicKey, bytes, signature) !== undefined) return toSolanaAddress(publicKey);
  }
  throw unboundSignature();
}

function bytesOf(text: string, length: number): Buffer {
  try {
    const bytes = decodeBase64url(text.replace(/=+$/, ''));
    if (bytes.length === length) return bytes;
  } catch {
    // Falls through to the one refusal.
  }
  throw unboundSignature();
}

/** The text a client signs, and the stricter one where a left-out field is told from a cleared one. */
export function proofMessages(request: RecordRequest): string[] {
  const lines = (...fields: readonly string[]) =>
    ['arns', request.action, request.antId, request.undername, ...fields].join('\n');
  switch (request.action) {
    case 'set-record':
      return [lines(request.transactionId, String(request.ttlSeconds))];
    case 'remove-record':
    case 'remove-record-metadata':
      return [lines()];
    case 'transfer-record':
      return [lines(request.target)];
    case 'set-record-metadata': {
      const { displayName, recordLogo, recordDescription, recordKeywords } = request.change;
      const keywords = recordKeywords ? recordKeywords.join(keywordSeparator) : recordKeywords;
      const values = [displayName, recordLogo, recordDescription, keywords];
      const spelled = (leftOut: string) =>
        lines(...values.map((value) => (value === undefined ? leftOut : (value ?? absent))));
      return [spelled(absent), spelled(untouched)];
    }
  }
}
