/** Ids in their two forms: base64url, and the host label (base32) that gives an id an origin of its own. */
import { decodeBase64, encodeBase64url } from '../../services/encoding.ts';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** undefined for what is no such label. */
export function idOfSandboxLabel(label: string): string | undefined {
  if (!/^[a-z2-7]{52}$/.test(label)) return undefined;
  const bytes = new Uint8Array(32);
  let value = 0;
  let bits = 0;
  let at = 0;
  for (const letter of label) {
    value = (value << 5) | alphabet.indexOf(letter);
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    if (at < bytes.length) bytes[at++] = (value >>> bits) & 255;
    value &= (1 << bits) - 1;
  }
  // 260 bits hold 256: those left over are zero in the one true form.
  return value === 0 ? encodeBase64url(bytes) : undefined;
}

export function sandboxLabel(id: string): string {
  let label = '';
  let value = 0;
  let bits = 0;
  for (const byte of decodeBase64(id) ?? []) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      label += alphabet[(value >>> bits) & 31];
    }
    value &= (1 << bits) - 1;
  }
  return bits === 0 ? label : label + alphabet[(value << (5 - bits)) & 31];
}

/** The address of an id's content where nothing else lives; `template` is the settings' `sandbox`. */
export function sandboxUrl(template: string, id: string, path = ''): string {
  const below = path.split('/').map(encodeURIComponent).join('/');
  return `${template.replace('{label}', sandboxLabel(id))}/${id}${path === '' ? '' : `/${below}`}`;
}
