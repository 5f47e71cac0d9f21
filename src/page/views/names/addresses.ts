import { decodeBase58 } from '../../services/encoding.ts';

/** Base58 of 32 bytes; whether somebody holds a key for it the service knows. */
export const isSolanaAddress = (text: string): boolean =>
  text.length >= 32 && text.length <= 44 && decodeBase58(text)?.length === 32;
