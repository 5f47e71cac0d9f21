/**
 * Whether a signature is its owner's, in the browser, for every signature type of data items. Written apart from what the
 * services use, so that what they say is checked and not repeated.
 */
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { concatBytes, encodeHex, utf8 } from '../../../services/encoding.ts';
import { ethereumAddress } from './owner-forms.ts';

/** undefined: this type cannot be checked here. */
export function verifySignature(
  type: number,
  owner: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean | undefined {
  switch (type) {
    case 1:
      return verifyPss(owner, message, signature);
    case 2:
      return verifyEd25519(owner, message, signature);
    case 3:
      return isSame(recover(personalHash(message), signature), owner);
    case 4:
      return verifyEd25519(owner, utf8(encodeHex(message)), signature);
    case 5:
      return verifyEd25519(owner, utf8(`APTOS\nmessage: ${encodeHex(message)}\nnonce: bundlr`), signature);
    case 6:
      return verifyMulti(owner, message, signature);
    case 7: {
      const key = recover(typedHash(message, owner), signature);
      return key !== undefined && isSame(utf8(ethereumAddress(key).toLowerCase()), owner);
    }
    default:
      return undefined;
  }
}

function verifyEd25519(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, message, key, { zip215: false });
  } catch {
    return false;
  }
}

/** Up to 32 keys of which so many must sign; a bitmap says which did. */
function verifyMulti(owner: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const threshold = owner[1_024] ?? 0;
  let signed = 0;
  for (let slot = 0; slot < 32; slot += 1) {
    const part = signature.subarray(slot * 64, slot * 64 + 64);
    const isSet = ((signature[2_048 + (slot >> 3)] ?? 0) & (0x80 >> (slot & 7))) !== 0;
    if (!isSet && part.some((byte) => byte !== 0)) return false;
    if (!isSet) continue;
    if (!verifyEd25519(owner.subarray(slot * 32, slot * 32 + 32), message, part)) return false;
    signed += 1;
  }
  return threshold >= 1 && signed >= threshold;
}

/** EIP-191. */
const personalHash = (message: Uint8Array): Uint8Array =>
  keccak_256(concatBytes(utf8(`\x19Ethereum Signed Message:\n${message.length}`), message));

/** EIP-712, the structure that items of type 7 sign. */
function typedHash(message: Uint8Array, owner: Uint8Array): Uint8Array {
  const address = new TextDecoder().decode(owner);
  const domain = keccak_256(
    concatBytes(
      keccak_256(utf8('EIP712Domain(string name,string version)')),
      keccak_256(utf8('Bundlr')),
      keccak_256(utf8('1')),
    ),
  );
  const padded = new Uint8Array(32);
  padded.set(hexBytes(address.slice(2)), 12);
  const struct = keccak_256(
    concatBytes(
      keccak_256(utf8('Bundlr(bytes Transaction hash,address address)')),
      keccak_256(message),
      padded,
    ),
  );
  return keccak_256(concatBytes(utf8('\x19\x01'), domain, struct));
}

const hexBytes = (text: string): Uint8Array =>
  Uint8Array.from(text.match(/[0-9a-f]{2}/gi)?.slice(0, 20) ?? [], (pair) => Number.parseInt(pair, 16));

/** The 65-byte key that made a signature (r ‖ s ‖ v); on the chain `v` is 27 or 28, or 0 or 1. */
function recover(hash: Uint8Array, signature: Uint8Array): Uint8Array | undefined {
  const last = signature[64] ?? 255;
  const recovery = last >= 27 ? last - 27 : last;
  if (signature.length !== 65 || recovery > 1) return undefined;
  try {
    return secp256k1.Signature.fromBytes(signature.subarray(0, 64), 'compact')
      .addRecoveryBit(recovery)
      .recoverPublicKey(hash)
      .toBytes(false);
  } catch {
    return undefined;
  }
}

function isSame(left: Uint8Array | undefined, right: Uint8Array): boolean {
  return left !== undefined && left.length === right.length && left.every((byte, at) => byte === right[at]);
}

/** RSA-PSS with SHA-256 and exponent 65537; good with any salt length, which WebCrypto cannot say. */
export function verifyPss(modulus: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const n = toNumber(modulus);
  const s = toNumber(signature);
  if (modulus.length < 128 || modulus.length > 1_024 || signature.length !== modulus.length || s >= n)
    return false;
  let power = s;
  for (let step = 0; step < 16; step += 1) power = (power * power) % n;
  const encoded = toBytes((power * s) % n, modulus.length);
  // RFC 8017 §9.1.2 with the modulus' highest bit set, so that the encoded message is one bit shorter.
  const bits = n.toString(2).length - 1;
  const length = Math.ceil(bits / 8);
  const em = encoded.subarray(encoded.length - length);
  const unused = 8 * length - bits;
  if (em.at(-1) !== 0xbc || (em[0] ?? 0) >> (8 - unused) !== 0) return false;
  const hash = em.subarray(length - 33, length - 1);
  const block = em.slice(0, length - 33);
  const mask = maskOf(hash, block.length);
  for (let at = 0; at < block.length; at += 1) block[at] = (block[at] ?? 0) ^ (mask[at] ?? 0);
  block[0] = (block[0] ?? 0) & (0xff >> unused);
  const one = block.findIndex((byte) => byte !== 0);
  if (one === -1 || block[one] !== 1) return false;
  const salt = block.subarray(one + 1);
  return isSame(sha256(concatBytes(new Uint8Array(8), sha256(message), salt)), hash);
}

function maskOf(seed: Uint8Array, length: number): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let counter = 0; 32 * counter < length; counter += 1) {
    parts.push(sha256(concatBytes(seed, Uint8Array.of(0, 0, counter >> 8, counter & 255))));
  }
  return concatBytes(...parts).subarray(0, length);
}

const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x0${encodeHex(bytes)}`);

function toBytes(value: bigint, length: number): Uint8Array {
  const text = value.toString(16).padStart(2 * length, '0');
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
