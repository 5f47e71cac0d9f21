/** The host label that gives an id a web origin of its own: base32 (RFC 4648, lower case, unpadded) of its bytes. */
import { type TxId, tryDecodeBase64url } from './base64url.ts';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const pattern = /^[a-z2-7]{52}$/;

export function isSandboxLabel(label: string): boolean {
  return pattern.test(label);
}

export function sandboxLabel(id: TxId): string {
  let label = '';
  let bits = 0;
  let value = 0;
  for (const byte of tryDecodeBase64url(id) ?? []) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      label += alphabet[(value >>> bits) & 31];
    }
    value &= 31;
  }
  return bits === 0 ? label : label + alphabet[(value << (5 - bits)) & 31];
}
