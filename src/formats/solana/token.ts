/** SPL Token: mints, token accounts, and the few instructions name payments use. */
import { FormatError } from '../format-error.ts';
import { addressBytes, type SolanaAddress } from './address.ts';
import { Reader, Writer } from './bytes.ts';
import { type Instruction, readOnly, signer, writable, writableSigner } from './message.ts';
import { findProgramAddress } from './pda.ts';
import { associatedTokenProgram, systemProgram, tokenProgram } from './programs.ts';

export const mintSize = 82;
export const tokenAccountSize = 165;

export interface Mint {
  authority: SolanaAddress | undefined;
  supply: bigint;
  decimals: number;
  initialized: boolean;
  freezeAuthority: SolanaAddress | undefined;
}

/** In these accounts an option is four bytes, and its value is always there. */
function writeOption(writer: Writer, value: SolanaAddress | undefined): void {
  writer.u32(value === undefined ? 0 : 1).bytes(value === undefined ? Buffer.alloc(32) : addressBytes(value));
}

function readOption(reader: Reader): SolanaAddress | undefined {
  const flag = reader.u32();
  const value = reader.address();
  if (flag > 1) throw new FormatError('a flag is neither 0 nor 1');
  return flag === 1 ? value : undefined;
}

export function encodeMint(mint: Mint): Buffer {
  const writer = new Writer();
  writeOption(writer, mint.authority);
  writer
    .u64(mint.supply)
    .u8(mint.decimals)
    .u8(mint.initialized ? 1 : 0);
  writeOption(writer, mint.freezeAuthority);
  return writer.finish();
}

export function decodeMint(data: Uint8Array): Mint {
  if (data.length !== mintSize) throw new FormatError('a mint has 82 bytes');
  const reader = new Reader(data);
  return {
    authority: readOption(reader),
    supply: reader.u64(),
    decimals: reader.u8(),
    initialized: reader.u8() === 1,
    freezeAuthority: readOption(reader),
  };
}

export interface TokenAccount {
  mint: SolanaAddress;
  owner: SolanaAddress;
  amount: bigint;
  delegate: SolanaAddress | undefined;
  state: 'uninitialized' | 'initialized' | 'frozen';
  delegatedAmount: bigint;
  closeAuthority: SolanaAddress | undefined;
}

const states = ['uninitialized', 'initialized', 'frozen'] as const;

export function encodeTokenAccount(account: TokenAccount): Buffer {
  const writer = new Writer()
    .bytes(addressBytes(account.mint))
    .bytes(addressBytes(account.owner))
    .u64(account.amount);
  writeOption(writer, account.delegate);
  writer.u8(states.indexOf(account.state));
  // Wrapped SOL is not kept here, so no account is "native".
  writer.u32(0).u64(0n).u64(account.delegatedAmount);
  writeOption(writer, account.closeAuthority);
  return writer.finish();
}

export function decodeTokenAccount(data: Uint8Array): TokenAccount {
  if (data.length !== tokenAccountSize) throw new FormatError('a token account has 165 bytes');
  const reader = new Reader(data);
  const mint = reader.address();
  const owner = reader.address();
  const amount = reader.u64();
  const delegate = readOption(reader);
  const state = states[reader.u8()];
  if (state === undefined) throw new FormatError('a token account has an unknown state');
  reader.take(12);
  const delegatedAmount = reader.u64();
  return { mint, owner, amount, delegate, state, delegatedAmount, closeAuthority: readOption(reader) };
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
  transfer: 3,
  approve: 4,
  revoke: 5,
  mintTo: 7,
  burn: 8,
  closeAccount: 9,
  transferChecked: 12,
  mintToChecked: 14,
  initializeAccount3: 18,
  initializeMint2: 20,
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

export function mintTo(
  mint: SolanaAddress,
  account: SolanaAddress,
  authority: SolanaAddress,
  amount: bigint,
): Instruction {
  return moveTokens(tokenInstruction.mintTo, mint, account, authority, amount);
}

export function transferToken(
  from: SolanaAddress,
  to: SolanaAddress,
  authority: SolanaAddress,
  amount: bigint,
): Instruction {
  return moveTokens(tokenInstruction.transfer, from, to, authority, amount);
}

function moveTokens(
  instruction: number,
  from: SolanaAddress,
  to: SolanaAddress,
  authority: SolanaAddress,
  amount: bigint,
): Instruction {
  return {
    programId: tokenProgram,
    accounts: [writable(from), writable(to), signer(authority)],
    data: new Writer().u8(instruction).u64(amount).finish(),
  };
}
