/** The address of an owner in the forms that people meet, out of the key that signs. */
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { encodeBase58, encodeBase64url, encodeHex, utf8 } from '../../../services/encoding.ts';

/** EIP-55. */
export function ethereumAddress(publicKey: Uint8Array): string {
  const digits = encodeHex(keccak_256(publicKey.subarray(1)).subarray(12));
  const hash = encodeHex(keccak_256(utf8(digits)));
  const letters = [...digits].map((digit, at) =>
    Number.parseInt(hash[at] ?? '0', 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return `0x${letters.join('')}`;
}

export interface OwnerForms {
  /** SHA-256 of the key: how the index knows every owner. */
  readonly normalized: string;
  /** As the owner's own chain writes it. */
  readonly native: string;
  readonly chain: 'arweave' | 'ethereum' | 'solana' | 'aptos';
}

export function ownerForms(type: number, key: Uint8Array): OwnerForms {
  const normalized = encodeBase64url(sha256(key));
  if (type === 2 || type === 4) return { normalized, native: encodeBase58(key), chain: 'solana' };
  if (type === 3 && key.length === 65) return { normalized, native: ethereumAddress(key), chain: 'ethereum' };
  if (type === 7)
    return { normalized, native: new TextDecoder().decode(key).slice(0, 42), chain: 'ethereum' };
  if (type === 5) return { normalized, native: `0x${encodeHex(key)}`, chain: 'aptos' };
  return { normalized, native: normalized, chain: type === 6 ? 'aptos' : 'arweave' };
}
