/** Solana: Ed25519, by the browser where it can, else by noble, which is loaded only then. */
import { concatBytes, encodeHex, utf8 } from '../../services/encoding.ts';
import type { KeySigner } from './key-signer.ts';

/** A key that the browser keeps to itself, or a seed for browsers without Ed25519. */
export type SolanaKey = CryptoKey | Uint8Array<ArrayBuffer>;

/** PKCS #8 of an Ed25519 seed (RFC 8410): these bytes, then the seed. */
const pkcs8Prefix = Uint8Array.of(
  ...[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20],
);

export async function importSolanaKey(seed: Uint8Array): Promise<SolanaKey> {
  try {
    const pkcs8 = concatBytes(pkcs8Prefix, seed);
    return await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']);
  } catch {
    return new Uint8Array(seed);
  }
}

export const makeSolanaSeed = (): Uint8Array<ArrayBuffer> => crypto.getRandomValues(new Uint8Array(32));

export async function solanaPublicKey(seed: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { ed25519 } = await import('@noble/curves/ed25519.js');
  return new Uint8Array(ed25519.getPublicKey(seed));
}

export function solanaSigner(key: SolanaKey, publicKey: Uint8Array): KeySigner {
  const sign = async (message: Uint8Array): Promise<Uint8Array> => {
    if (key instanceof Uint8Array) {
      const { ed25519 } = await import('@noble/curves/ed25519.js');
      return ed25519.sign(message, key);
    }
    return new Uint8Array(await crypto.subtle.sign('Ed25519', key, new Uint8Array(message)));
  };
  return {
    kind: 'solana',
    signatureType: 4,
    publicKey,
    // Wallets of this chain sign text only, so that items of type 4 sign the message's hex.
    signItem: (message) => sign(utf8(encodeHex(message))),
    signText: (text) => sign(utf8(text)),
    signBytes: sign,
  };
}
