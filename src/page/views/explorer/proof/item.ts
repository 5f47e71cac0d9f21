/** Checks a data item (ANS-104) that is whole in memory: its id, and that its owner signed it with these bytes. */
import { sha256 } from '@noble/hashes/sha2.js';
import { signatureLayout } from '../../../../formats/ans104/signature-types.ts';
import { encodeBase64url } from '../../../services/encoding.ts';
import { deepHash } from '../../../wallet/deep-hash.ts';
import { verifySignature } from './signatures.ts';

export type ItemVerdict = 'good' | 'other item' | 'bad signature' | 'not readable' | 'unknown type';

/** Beyond it no header is read. */
const maxTagBytes = 1024 * 1024;

export async function checkItem(id: string, bytes: Uint8Array<ArrayBuffer>): Promise<ItemVerdict> {
  if (bytes.length < 2) return 'not readable';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const layout = signatureLayout(view.getUint16(0, true));
  if (layout === undefined) return 'unknown type';
  let at = 2;
  const take = (length: number): Uint8Array<ArrayBuffer> => {
    if (at + length > bytes.length) throw new RangeError('the item ends too early');
    at += length;
    return bytes.slice(at - length, at);
  };
  try {
    const signature = take(layout.signatureBytes);
    if (encodeBase64url(sha256(signature)) !== id) return 'other item';
    const owner = take(layout.ownerBytes);
    const target = take(take(1)[0] === 1 ? 32 : 0);
    const anchor = take(take(1)[0] === 1 ? 32 : 0);
    take(16);
    const tagBytes = Number(view.getBigUint64(at - 8, true));
    if (tagBytes > maxTagBytes) return 'not readable';
    const tags = take(tagBytes);
    const data = bytes.slice(at);
    const message = await deepHash(['dataitem', '1', String(layout.type), owner, target, anchor, tags, data]);
    const isGood = verifySignature(layout.type, owner, message, signature);
    if (isGood === undefined) return 'unknown type';
    return isGood ? 'good' : 'bad signature';
  } catch (error) {
    if (error instanceof RangeError) return 'not readable';
    throw error;
  }
}
