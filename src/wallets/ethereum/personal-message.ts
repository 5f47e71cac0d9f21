/** EIP-191 `personal_sign`: how a wallet signs a message that is no transaction. */
import { ethereumAddress } from './address.ts';
import { keccak256 } from './keccak.ts';
import { recoverPublicKey, signDigest } from './secp256k1.ts';

/** keccak256("\x19Ethereum Signed Message:\n" ‖ decimal length ‖ message). */
export function personalMessageHash(message: Uint8Array): Uint8Array {
  return keccak256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${message.length}`), message]));
}

/** r ‖ s ‖ v with v 27 or 28. */
export function signEthereumDigest(digest: Uint8Array, privateKey: Uint8Array): Buffer {
  const { signature, recovery } = signDigest(digest, privateKey);
  if (recovery > 1) throw new Error('this message cannot be signed with this key');
  return Buffer.concat([signature, Buffer.from([27 + recovery])]);
}

/**
 * The public key behind an r ‖ s ‖ v signature, or undefined. `v` must be 27 or 28; where nothing hangs on
 * the exact bytes (request signatures, typed payments), `allowRawRecovery` also takes 0 and 1.
 */
export function recoverEthereumKey(
  digest: Uint8Array,
  signature: Uint8Array,
  options: { allowRawRecovery?: boolean } = {},
): Uint8Array | undefined {
  if (signature.length !== 65) return undefined;
  const v = signature[64]!;
  const recovery = v >= 27 ? v - 27 : options.allowRawRecovery === true ? v : -1;
  return recoverPublicKey(digest, signature.subarray(0, 64), recovery);
}

/** The checksummed address behind a signature of a digest (EIP-712, EIP-191), or undefined. */
export function recoverEthereumAddress(digest: Uint8Array, signature: Uint8Array): string | undefined {
  const key = recoverEthereumKey(digest, signature, { allowRawRecovery: true });
  return key === undefined ? undefined : ethereumAddress(key);
}
