import { decodeBase64 } from '../../../services/encoding.ts';
import { deepHash } from '../../../wallet/deep-hash.ts';
import type { Receipt } from './receipt.ts';
import { verifyPss } from './signatures.ts';

/** Whether the key that the receipt names made its signature. */
export async function isReceiptSigned({
  id,
  version,
  key,
  signature,
  timestamp,
  deadlineHeight,
}: Receipt): Promise<boolean> {
  const modulus = decodeBase64(key);
  const signed = decodeBase64(signature);
  if (modulus === undefined || signed === undefined) return false;
  const message = await deepHash(['Bundlr', version, id, String(deadlineHeight), String(timestamp)]);
  return verifyPss(modulus, message, signed);
}
