/** KYVE addresses: bech32 (BIP-173) of RIPEMD-160(SHA-256(compressed secp256k1 key)) with the prefix `kyve`. */
import { hash } from 'node:crypto';

const prefix = 'kyve';
const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

/** The address of an uncompressed public key (`04 ‖ X ‖ Y`). */
export function kyveAddress(publicKey: Uint8Array): string {
  const compressed = Buffer.concat([Buffer.from([2 + (publicKey[64]! & 1)]), publicKey.subarray(1, 33)]);
  const digest = hash('ripemd160', hash('sha256', compressed, 'buffer'), 'buffer');
  const words = toWords(digest);
  return `${prefix}1${[...words, ...checksum(words)].map((word) => alphabet[word]).join('')}`;
}

/** The address when prefix, length and checksum are right. */
export function parseKyveAddress(text: string): string | undefined {
  if (!/^kyve1[02-9ac-hj-np-z]{38}$/.test(text)) return undefined;
  const words = [...text.slice(prefix.length + 1)].map((letter) => alphabet.indexOf(letter));
  return polymod([...expandedPrefix, ...words]) === 1 ? text : undefined;
}

/** 20 bytes as 32 groups of five bits. */
function toWords(bytes: Uint8Array): number[] {
  const words: number[] = [];
  let value = 0;
  let bits = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      words.push((value >> bits) & 31);
    }
  }
  return words;
}

const expandedPrefix = [
  ...[...prefix].map((letter) => letter.charCodeAt(0) >> 5),
  0,
  ...[...prefix].map((letter) => letter.charCodeAt(0) & 31),
];

function checksum(words: readonly number[]): number[] {
  const value = polymod([...expandedPrefix, ...words, 0, 0, 0, 0, 0, 0]) ^ 1;
  return [25, 20, 15, 10, 5, 0].map((shift) => (value >>> shift) & 31);
}

function polymod(words: readonly number[]): number {
  let value = 1;
  for (const word of words) {
    const top = value >>> 25;
    value = ((value & 0x1ffffff) << 5) ^ word;
    generators.forEach((generator, bit) => {
      if (((top >>> bit) & 1) === 1) value ^= generator;
    });
  }
  return value;
}
