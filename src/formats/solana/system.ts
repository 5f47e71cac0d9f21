/** Instructions of the System, ComputeBudget and Memo programs. */
import { addressBytes, type SolanaAddress } from './address.ts';
import { Writer } from './bytes.ts';
import { type Instruction, signer, writable, writableSigner } from './message.ts';
import { computeBudgetProgram, memoProgram, systemProgram } from './programs.ts';

export const systemInstruction = {
  createAccount: 0,
  assign: 1,
  transfer: 2,
  createAccountWithSeed: 3,
  advanceNonce: 4,
  withdrawNonce: 5,
  initializeNonce: 6,
  authorizeNonce: 7,
  allocate: 8,
  allocateWithSeed: 9,
  assignWithSeed: 10,
  transferWithSeed: 11,
  upgradeNonce: 12,
} as const;

export const computeBudgetInstruction = {
  requestHeapFrame: 1,
  unitLimit: 2,
  unitPrice: 3,
  loadedDataLimit: 4,
} as const;

export function transferLamports(from: SolanaAddress, to: SolanaAddress, lamports: bigint): Instruction {
  return {
    programId: systemProgram,
    accounts: [writableSigner(from), writable(to)],
    data: new Writer().u32(systemInstruction.transfer).u64(lamports).finish(),
  };
}

export function createAccount(
  payer: SolanaAddress,
  account: SolanaAddress,
  lamports: bigint,
  space: number,
  owner: SolanaAddress,
): Instruction {
  return {
    programId: systemProgram,
    accounts: [writableSigner(payer), writableSigner(account)],
    data: new Writer()
      .u32(systemInstruction.createAccount)
      .u64(lamports)
      .u64(BigInt(space))
      .bytes(addressBytes(owner))
      .finish(),
  };
}

/** The units a transaction may use, and what each costs in millionths of a lamport. */
export function computeBudget(unitLimit: number, microLamports: bigint): Instruction[] {
  const budget = (data: Uint8Array): Instruction => ({ programId: computeBudgetProgram, accounts: [], data });
  return [
    budget(new Writer().u8(computeBudgetInstruction.unitLimit).u32(unitLimit).finish()),
    budget(new Writer().u8(computeBudgetInstruction.unitPrice).u64(microLamports).finish()),
  ];
}

export function memo(text: string, ...signers: SolanaAddress[]): Instruction {
  return {
    programId: memoProgram,
    accounts: signers.map(signer),
    data: Buffer.from(text),
  };
}
