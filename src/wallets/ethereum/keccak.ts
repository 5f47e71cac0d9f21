/** Keccak-256 as Ethereum uses it (with the padding from before SHA-3 was standardised, which `node:crypto` lacks). */
import { keccak_256 } from '@noble/hashes/sha3.js';

export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}
