/** Why a transaction fails, in the names and shapes Solana's RPC uses. */
import { FormatError } from '../../../formats/format-error.ts';

export type InstructionErrorName =
  | 'InvalidArgument'
  | 'InvalidInstructionData'
  | 'InvalidAccountData'
  | 'InsufficientFunds'
  | 'IncorrectProgramId'
  | 'MissingRequiredSignature'
  | 'UninitializedAccount'
  | 'UnbalancedInstruction'
  | 'ModifiedProgramId'
  | 'ExternalAccountLamportSpend'
  | 'ExternalAccountDataModified'
  | 'ReadonlyLamportChange'
  | 'ReadonlyDataModified'
  | 'NotEnoughAccountKeys'
  | 'UnsupportedProgramId'
  | 'CallDepth'
  | 'MissingAccount'
  | 'InvalidSeeds'
  | 'InvalidRealloc'
  | 'ComputationalBudgetExceeded'
  | 'PrivilegeEscalation'
  | 'IllegalOwner'
  | 'InvalidAccountOwner'
  | 'IncorrectAuthority'
  | 'Immutable'
  | 'ArithmeticOverflow';

export type InstructionError = InstructionErrorName | { readonly Custom: number };

/** The errors that need no detail, with the sentence that Solana's own tools print for each. */
const sentences = {
  AccountNotFound: 'Attempt to debit an account but found no record of a prior credit.',
  ProgramAccountNotFound: 'Attempt to load a program that does not exist',
  InsufficientFundsForFee: 'Insufficient funds for fee',
  InvalidAccountForFee: 'This account may not be used to pay transaction fees',
  AlreadyProcessed: 'This transaction has already been processed',
  BlockhashNotFound: 'Blockhash not found',
  InvalidProgramForExecution: 'This program may not be used for executing instructions',
  SignatureFailure: 'Transaction did not pass signature verification',
  AccountLoadedTwice: 'Account loaded twice',
  TooManyAccountLocks: 'Transaction locked too many accounts',
  AddressLookupTableNotFound: "Transaction loads an address table account that doesn't exist",
  InvalidAddressLookupTableOwner: 'Transaction loads an address table account with an invalid owner',
  InvalidAddressLookupTableData: 'Transaction loads an address table account with invalid data',
  InvalidAddressLookupTableIndex: 'Transaction address table lookup uses an invalid index',
};

export type TransactionError =
  | keyof typeof sentences
  | { readonly InstructionError: readonly [number, InstructionError] }
  | { readonly InsufficientFundsForRent: { readonly account_index: number } }
  | { readonly DuplicateInstruction: number };

/** Thrown by a program: the transaction's effects are undone and the fee is kept. */
export class InstructionFailure extends Error {
  override readonly name = 'InstructionFailure';
  readonly error: InstructionError;

  constructor(error: InstructionError) {
    super(typeof error === 'string' ? error : `custom program error: 0x${error.Custom.toString(16)}`);
    this.error = error;
  }
}

export function fail(error: InstructionErrorName): never {
  throw new InstructionFailure(error);
}

export function failCustom(code: number): never {
  throw new InstructionFailure({ Custom: code });
}

/** What `read` answers; data that cannot be read fails the instruction, not the ledger. */
export function parsed<T>(
  read: () => T,
  error: InstructionErrorName | (() => never) = 'InvalidInstructionData',
): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof FormatError) return typeof error === 'function' ? error() : fail(error);
    throw cause;
  }
}

/** The sentence that Solana's own tools print for an error. */
export function describeTransactionError(error: TransactionError): string {
  if (typeof error === 'string') return sentences[error];
  if ('InstructionError' in error) {
    const [index, cause] = error.InstructionError;
    const text = typeof cause === 'string' ? cause : `custom program error: 0x${cause.Custom.toString(16)}`;
    return `Error processing Instruction ${index}: ${text}`;
  }
  if ('InsufficientFundsForRent' in error) {
    return `Transaction results in an account (${error.InsufficientFundsForRent.account_index}) with insufficient funds for rent`;
  }
  return `Transaction contains a duplicate instruction (${error.DuplicateInstruction}) that is not allowed`;
}
