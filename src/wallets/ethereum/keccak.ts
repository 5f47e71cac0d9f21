/** Keccak-256 as Ethereum uses it (the padding before SHA-3 was standardised, so `node:crypto` has it not). */
import { keccak_256 } from '@noble/hashes/sha3.js';

export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}
