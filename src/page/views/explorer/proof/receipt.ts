/** A receipt: the upload service's signed promise to have an item in a posted bundle by a height. */
import { isCount, isRecord, memberOf, textOf, tryParseJson } from '../../../../formats/json.ts';

export interface Receipt {
  readonly id: string;
  /** Unix milliseconds. */
  readonly timestamp: number;
  readonly version: string;
  readonly deadlineHeight: number;
  readonly winc: string | undefined;
  readonly owner: string | undefined;
  /** RSA modulus, base64url. */
  readonly key: string;
  readonly signature: string;
}

/** Of a text that somebody pastes. */
const maxReceiptLength = 64 * 1024;

/** undefined for what is no receipt. Kept receipts may have it in a member of their own. */
export function readReceipt(text: string): Receipt | undefined {
  if (text.length > maxReceiptLength) return undefined;
  const parsed = tryParseJson(text);
  const value = isRecord(memberOf(parsed, 'receipt')) ? memberOf(parsed, 'receipt') : parsed;
  const id = textOf(value, 'id');
  const version = textOf(value, 'version');
  const key = textOf(value, 'public');
  const signature = textOf(value, 'signature');
  const timestamp = memberOf(value, 'timestamp');
  const deadlineHeight = memberOf(value, 'deadlineHeight');
  if (id === undefined || !/^[A-Za-z0-9_-]{43}$/.test(id)) return undefined;
  if (version === undefined || key === undefined || signature === undefined) return undefined;
  if (!isCount(timestamp) || !isCount(deadlineHeight)) return undefined;
  return {
    id,
    version,
    key,
    signature,
    timestamp,
    deadlineHeight,
    winc: textOf(value, 'winc'),
    owner: textOf(value, 'owner'),
  };
}
