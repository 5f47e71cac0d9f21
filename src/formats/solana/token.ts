/** SPL Token: mints, token accounts, multisignatures, and the few instructions name payments use. */
import { FormatError } from '../format-error.ts';
import { addressBytes, type SolanaAddress } from './address.ts';
import { Writer } from './bytes.ts';
import { address, type Codec, decode, encode, fixed, struct, u8, u64 } from './codec.ts';
import { type Instruction, readOnly, signer, writable, writableSigner } from './message.ts';
import { findProgramAddress } from './pda.ts';
import { associatedTokenProgram, systemProgram, tokenProgram } from './programs.ts';

export const mintSize = 82;
export const tokenAccountSize = 165;
export const multisigSize = 355;
export const maxMultisigSigners = 11;

/** In these accounts an option is four bytes, and its value is always there. */
const optionalAddress: Codec<SolanaAddress | undefined> = {
  write: (w, v) => w.u32(v === undefined ? 0 : 1).bytes(v === undefined ? Buffer.alloc(32) : addressBytes(v)),
  read: (r) => {
    const flag = r.u32();
    const value = r.address();
    if (flag > 1) throw new FormatError('a flag is neither 0 nor 1');
    return flag === 1 ? value : undefined;
  },
};

const states = ['uninitialized', 'initialized', 'frozen'] as const;
const state: Codec<(typeof states)[number]> = {
  write: (w, v) => w.u8(states.indexOf(v)),
  read: (r) => {
    const known = states[r.u8()];
    if (known === undefined) throw new FormatError('a token account has an unknown state');
    return known;
  },
};

/** Any byte but 1 says no. */
const initialized: Codec<boolean> = { write: (w, v) => w.u8(v ? 1 : 0), read: (r) => r.u8() === 1 };

const mintCodec = struct({
  authority: optionalAddress,
  supply: u64,
  decimals: u8,
  initialized,
  freezeAuthority: optionalAddress,
});
export type Mint = ReturnType<typeof mintCodec.read>;

/** Of wrapped SOL: the lamports that are rent and not tokens. Undefined for any other token. */
const nativeReserve: Codec<bigint | undefined> = {
  write: (w, v) => w.u32(v === undefined ? 0 : 1).u64(v ?? 0n),
  read: (r) => {
    const flag = r.u32();
    const value = r.u64();
    if (flag > 1) throw new FormatError('a flag is neither 0 nor 1');
    return flag === 1 ? value : undefined;
  },
};

const tokenAccountCodec = struct({
  mint: address,
  owner: address,
  amount: u64,
  delegate: optionalAddress,
  state,
  nativeReserve,
  delegatedAmount: u64,
  closeAuthority: optionalAddress,
});
export type TokenAccount = ReturnType<typeof tokenAccountCodec.read>;

export const encodeMint = (mint: Mint): Buffer => encode(mintCodec, mint);

export function decodeMint(data: Uint8Array): Mint {
  if (data.length !== mintSize) throw new FormatError('a mint has 82 bytes');
  return decode(mintCodec, data, 'a mint');
}

export const encodeTokenAccount = (account: TokenAccount): Buffer => encode(tokenAccountCodec, account);

export function decodeTokenAccount(data: Uint8Array): TokenAccount {
  if (data.length !== tokenAccountSize) throw new FormatError('a token account has 165 bytes');
  return decode(tokenAccountCodec, data, 'a token account');
}

const multisigCodec = struct({
  required: u8,
  count: u8,
  initialized,
  signers: fixed(address, maxMultisigSigners),
});
export type Multisig = ReturnType<typeof multisigCodec.read>;

export const encodeMultisig = (multisig: Multisig): Buffer => encode(multisigCodec, multisig);

export function decodeMultisig(data: Uint8Array): Multisig {
  if (data.length !== multisigSize) throw new FormatError('a multisignature has 355 bytes');
  return decode(multisigCodec, data, 'a multisignature');
}

/** The token account that a wallet uses for a mint by convention. */
export function associatedTokenAddress(owner: SolanaAddress, mint: SolanaAddress): SolanaAddress {
  const seeds = [addressBytes(owner), addressBytes(tokenProgram), addressBytes(mint)];
  return findProgramAddress(seeds, associatedTokenProgram).address;
}

/** Numbers of the SPL Token instructions. */
export const tokenInstruction = {
  initializeMint: 0,
  initializeAccount: 1,
  initializeMultisig: 2,
  transfer: 3,
  approve: 4,
  revoke: 5,
  setAuthority: 6,
  mintTo: 7,
  burn: 8,
  closeAccount: 9,
  freezeAccount: 10,
  thawAccount: 11,
  transferChecked: 12,
  approveChecked: 13,
  mintToChecked: 14,
  burnChecked: 15,
  initializeAccount2: 16,
  syncNative: 17,
  initializeAccount3: 18,
  initializeMultisig2: 19,
  initializeMint2: 20,
  getAccountDataSize: 21,
  initializeImmutableOwner: 22,
  amountToUiAmount: 23,
  uiAmountToAmount: 24,
} as const;

export function createAssociatedTokenAccount(
  payer: SolanaAddress,
  owner: SolanaAddress,
  mint: SolanaAddress,
): Instruction {
  return {
    programId: associatedTokenProgram,
    accounts: [
      writableSigner(payer),
      writable(associatedTokenAddress(owner, mint)),
      readOnly(owner),
      readOnly(mint),
      readOnly(systemProgram),
      readOnly(tokenProgram),
    ],
    // 1 = create unless it is there already.
    data: Uint8Array.of(1),
  };
}

/** An instruction that moves an amount from the first account to the second. */
const moving =
  (instruction: number) =>
  (from: SolanaAddress, to: SolanaAddress, authority: SolanaAddress, amount: bigint): Instruction => ({
    programId: tokenProgram,
    accounts: [writable(from), writable(to), signer(authority)],
    data: new Writer().u8(instruction).u64(amount).finish(),
  });

/** From the mint to an account. */
export const mintTo = moving(tokenInstruction.mintTo);
export const transferToken = moving(tokenInstruction.transfer);
