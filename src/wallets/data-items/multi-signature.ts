/**
 * Type 6, several Aptos keys: the owner is 32 slots of 32-byte keys and a threshold byte, the signature 32
 * slots of 64 bytes and a bitmap (bit 7 of byte 0 is slot 0). The bitmap says which slots signed.
 *
 * Strict, because slots and bitmap are not signed themselves: at least `threshold` slots signed, the
 * threshold at least 1, nothing signed beyond the keys there are, unused slots zero.
 */
import { ed25519PublicKey, verifyEd25519 } from '../solana/ed25519.ts';

const slots = 32;

export function verifyMultiSignature(owner: Buffer, message: Buffer, signature: Uint8Array): boolean {
  const threshold = owner[slots * 32]!;
  const bitmap = signature.subarray(slots * 64);
  let signed = 0;
  for (let slot = 0; slot < slots; slot++) {
    const part = signature.subarray(slot * 64, slot * 64 + 64);
    const isSet = (bitmap[slot >> 3]! & (0x80 >> (slot & 7))) !== 0;
    if (!isSet) {
      if (part.some((byte) => byte !== 0)) return false;
      continue;
    }
    const key = ed25519PublicKey(owner.subarray(slot * 32, slot * 32 + 32));
    if (key === undefined || !verifyEd25519(key, message, part)) return false;
    signed++;
  }
  return threshold >= 1 && signed >= threshold;
}

/** The owner field of up to 32 keys, `threshold` of which must sign. */
export function multiSignatureOwner(keys: readonly Uint8Array[], threshold: number): Buffer {
  if (keys.length > slots || threshold < 1 || threshold > keys.length) {
    throw new Error('between 1 and 32 keys, and a threshold they can reach');
  }
  const owner = Buffer.alloc(slots * 32 + 1);
  keys.forEach((key, slot) => {
    owner.set(key, slot * 32);
  });
  owner[slots * 32] = threshold;
  return owner;
}

/** The signature field of the signatures that were made, by slot. */
export function multiSignature(signatures: ReadonlyMap<number, Uint8Array>): Buffer {
  const signature = Buffer.alloc(slots * 64 + 4);
  for (const [slot, part] of signatures) {
    signature.set(part, slot * 64);
    signature[slots * 64 + (slot >> 3)]! |= 0x80 >> (slot & 7);
  }
  return signature;
}
