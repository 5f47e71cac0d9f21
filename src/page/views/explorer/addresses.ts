/** One owner has many spellings: the address of the owner's chain, and the hash of the key that the index goes by. */
import { sha256 } from '@noble/hashes/sha2.js';
import { decodeBase58, encodeBase64url } from '../../services/encoding.ts';

export type AddressKind = 'arweave' | 'ethereum' | 'solana';

export function addressKind(address: string): AddressKind | undefined {
  if (/^0x[0-9a-fA-F]{40}$/.test(address)) return 'ethereum';
  if (/^[A-Za-z0-9_-]{43}$/.test(address)) return solanaKey(address) === undefined ? 'arweave' : undefined;
  return solanaKey(address) === undefined ? undefined : 'solana';
}

/** The 32 bytes of a Solana address. Its text may have 43 characters, as an Arweave address has. */
export function solanaKey(address: string): Uint8Array | undefined {
  if (address.length < 32 || address.length > 44) return undefined;
  const key = decodeBase58(address);
  return key?.length === 32 ? key : undefined;
}

/** What the index calls the owner with that Solana key. */
export function normalizedOfSolana(address: string): string | undefined {
  const key = solanaKey(address);
  return key && encodeBase64url(sha256(key));
}
