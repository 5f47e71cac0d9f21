/** One owner has many spellings: the address of the owner's chain, and the hash of the key that the index goes by. */
import { sha256 } from '@noble/hashes/sha2.js';
import { decodeBase58, encodeBase64url } from '../../services/encoding.ts';

export type AddressKind = 'arweave' | 'ethereum' | 'solana';

/** 43 characters may be either chain's: nearly all that are base58 of 32 bytes are Solana's. */
export function addressKind(address: string): AddressKind | undefined {
  if (/^0x[0-9a-fA-F]{40}$/.test(address)) return 'ethereum';
  if (solanaKey(address) !== undefined) return 'solana';
  return /^[A-Za-z0-9_-]{43}$/.test(address) ? 'arweave' : undefined;
}

/** The 32 bytes of a Solana address. */
function solanaKey(address: string): Uint8Array | undefined {
  if (address.length < 32 || address.length > 44) return undefined;
  const key = decodeBase58(address);
  return key?.length === 32 ? key : undefined;
}

/** What the index calls the owner with that Solana key. */
export function normalizedOfSolana(address: string): string | undefined {
  const key = solanaKey(address);
  return key && encodeBase64url(sha256(key));
}
