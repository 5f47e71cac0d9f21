/** Ethereum: secp256k1 by noble, which browsers lack. A part of its own: loaded when an Ethereum wallet is used. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, encodeHex, utf8 } from '../../services/encoding.ts';
import type { KeySigner } from './key-signer.ts';
import { hashTypedData, type TypedData } from './typed-data.ts';

export const makeEthereumKey = (): Uint8Array<ArrayBuffer> =>
  new Uint8Array(secp256k1.utils.randomSecretKey());

/** 65 bytes, uncompressed. */
export const ethereumPublicKey = (privateKey: Uint8Array): Uint8Array =>
  secp256k1.getPublicKey(privateKey, false);

/** With its checksum (EIP-55). */
export const ethereumAddressOf = (publicKey: Uint8Array): string =>
  checksummed(encodeHex(keccak_256(publicKey.subarray(1)).subarray(12)));

/** The one spelling of an address that everything else uses; `0x` may be missing. */
export function checksummed(address: string): string {
  const digits = address.replace(/^0x/i, '').toLowerCase();
  const hash = encodeHex(keccak_256(utf8(digits)));
  const spelled = [...digits].map((digit, at) =>
    Number.parseInt(hash.charAt(at), 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return `0x${spelled.join('')}`;
}

/** EIP-191 */
export const personalMessageHash = (message: Uint8Array): Uint8Array =>
  keccak_256(concatBytes(utf8(`\x19Ethereum Signed Message:\n${message.length}`), message));

/** The 65-byte key that made a signature (r, s, v) over a message; undefined where none did. */
export function recoverKey(message: Uint8Array, signature: Uint8Array): Uint8Array | undefined {
  const v = signature[64];
  if (signature.length !== 65 || v === undefined) return undefined;
  try {
    const recovery = v >= 27 ? v - 27 : v;
    return secp256k1.Signature.fromBytes(signature.subarray(0, 64), 'compact')
      .addRecoveryBit(recovery)
      .recoverPublicKey(personalMessageHash(message))
      .toBytes(false);
  } catch {
    return undefined;
  }
}

/** `readKey`: the private key, for one signature. */
export function ethereumSigner(publicKey: Uint8Array, readKey: () => Promise<Uint8Array>): KeySigner {
  const signHash = async (hash: Uint8Array): Promise<Uint8Array> => {
    const key = await readKey();
    const [recovery = 0, ...rest] = secp256k1.sign(hash, key, { prehash: false, format: 'recovered' });
    key.fill(0);
    return Uint8Array.of(...rest, recovery + 27);
  };
  return {
    kind: 'ethereum',
    signatureType: 3,
    publicKey,
    signItem: (message) => signHash(personalMessageHash(message)),
    signText: (text) => signHash(personalMessageHash(utf8(text))),
    signBytes: (message) => signHash(personalMessageHash(message)),
    signTypedData: async (typedData) =>
      `0x${encodeHex(await signHash(hashTypedData(typedData as TypedData)))}`,
  };
}
