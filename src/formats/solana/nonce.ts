/** Nonce accounts: a value that stands in for a recent blockhash and lives until it is used. */
import { encodeBase58 } from '../base58.ts';
import { FormatError } from '../format-error.ts';
import type { SolanaAddress } from './address.ts';
import { address, bytes, type Codec, decode, encode, struct, u32, u64 } from './codec.ts';

export const nonceAccountSize = 80;

const nonceCodec = struct({
  authority: address,
  value: bytes(32),
  /** What a signature cost when the value was made. */
  lamportsPerSignature: u64,
});

interface NonceData {
  readonly authority: SolanaAddress;
  readonly value: Buffer;
  readonly lamportsPerSignature: bigint;
}

/** The version in front is 0 for an account that was never filled, else 1; then comes 0 for "not initialized". */
const accountCodec: Codec<NonceData | undefined> = {
  write: (w, v) => {
    w.u32(1).u32(v === undefined ? 0 : 1);
    if (v !== undefined) nonceCodec.write(w, v);
    else w.bytes(Buffer.alloc(nonceAccountSize - 8));
  },
  read: (r) => {
    const version = u32.read(r);
    const state = u32.read(r);
    if (version > 1 || state > 1) throw new FormatError('a nonce account has an unknown state');
    if (state === 1) return nonceCodec.read(r);
    r.take(nonceAccountSize - 8);
    return undefined;
  },
};

export const encodeNonce = (nonce: NonceData | undefined): Buffer => encode(accountCodec, nonce);

/** What the account holds; undefined where it is not initialized yet. */
export function decodeNonce(data: Uint8Array): NonceData | undefined {
  if (data.length !== nonceAccountSize) throw new FormatError('a nonce account has 80 bytes');
  return decode(accountCodec, data, 'a nonce account');
}

/** As transactions name it, in the place of a blockhash. */
export const nonceText = (nonce: NonceData): string => encodeBase58(nonce.value);
