/** Keccak-256 as Ethereum uses it (with the padding from before SHA-3 was standardised, which `node:crypto` lacks). */
export { keccak_256 as keccak256 } from '@noble/hashes/sha3.js';
