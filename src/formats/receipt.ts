/** Receipts of an upload service: what they sign, and whether they do. */
import { hash } from 'node:crypto';
import { rsaPublicKey, verifyPssAsync } from './arweave/rsa-pss.ts';
import { decodeBase64url } from './base64url.ts';
import { deepHash } from './deep-hash.ts';

export const receiptVersion = '0.2.0';

/** The 48 bytes that a receipt signs. */
export function receiptMessage(id: string, deadlineHeight: number, timestamp: number): Buffer {
  return deepHash(['Bundlr', receiptVersion, id, String(deadlineHeight), String(timestamp)]);
}

/** What of a receipt is signed, and by whom. */
export interface SignedReceipt {
  readonly id: string;
  readonly timestamp: number;
  readonly version: string;
  readonly deadlineHeight: number;
  /** Modulus of the service's key. */
  readonly public: string;
  readonly signature: string;
}

/** The address of the service that signed it; undefined where it did not. */
export async function receiptSigner(receipt: SignedReceipt): Promise<string | undefined> {
  if (receipt.version !== receiptVersion) return undefined;
  const modulus = decodeBase64url(receipt.public);
  const key = rsaPublicKey(modulus);
  const message = receiptMessage(receipt.id, receipt.deadlineHeight, receipt.timestamp);
  if (key === undefined || !(await verifyPssAsync(key, message, decodeBase64url(receipt.signature)))) {
    return undefined;
  }
  return hash('sha256', modulus, 'base64url');
}
