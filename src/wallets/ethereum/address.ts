/** Ethereum addresses: derived from keys, written with the checksum of EIP-55. */
import { keccak256 } from './keccak.ts';

/** The checksummed address of an uncompressed public key (`04 ‖ X ‖ Y`). */
export function ethereumAddress(publicKey: Uint8Array): string {
  const hash = keccak256(publicKey.subarray(1));
  return checksumAddress(Buffer.from(hash.buffer, hash.byteOffset + 12, 20).toString('hex'));
}

/**
 * Reads an address in any case and answers it checksummed. Text that mixes cases claims a checksum, and a
 * wrong one is refused (EIP-55): undefined.
 */
export function parseEthereumAddress(text: string): string | undefined {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return undefined;
  const digits = text.slice(2);
  const lower = digits.toLowerCase();
  const checksummed = checksumAddress(lower);
  const claimsChecksum = digits !== lower && digits !== digits.toUpperCase();
  return claimsChecksum && checksummed !== text ? undefined : checksummed;
}

/** EIP-55: a letter is upper case where the hash of the lower-case digits has a nibble of 8 or more. */
function checksumAddress(lowerDigits: string): string {
  const hash = keccak256(Buffer.from(lowerDigits, 'latin1'));
  let text = '0x';
  for (let i = 0; i < 40; i++) {
    const nibble = (hash[i >> 1]! >> (i % 2 === 0 ? 4 : 0)) & 15;
    text += nibble >= 8 ? lowerDigits[i]!.toUpperCase() : lowerDigits[i]!;
  }
  return text;
}
