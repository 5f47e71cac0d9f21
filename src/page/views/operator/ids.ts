/** What people enter, as far as it can be judged here; services judge it again. */

/** Of a transaction or data item: 32 bytes of base64url. */
export const isId = (text: string): boolean => /^[\w-]{43}$/.test(text);
/** Of an EVM chain. */
export const isTransactionHash = (text: string): boolean => /^0x[0-9a-fA-F]{64}$/.test(text);
export const isCount = (text: string): boolean => /^\d{1,15}$/.test(text);
/** Whole or with a fraction, above zero. */
export const isPositiveDecimal = (text: string): boolean =>
  /^\d{1,12}(?:\.\d{1,12})?$/.test(text) && /[1-9]/.test(text);
export const isNameLabel = (text: string): boolean => /^[\w-]{1,63}$/.test(text);
