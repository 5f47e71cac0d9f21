/**
 * Executes one transaction on a copy of the accounts it touches: all of it or, the fee aside, nothing. Whoever
 * calls has checked signatures, blockhash and repetition; here begin the fee payer and the programs.
 */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import {
  type AccountMeta,
  type Instruction,
  isWritableKey,
  type Message,
} from '../../../formats/solana/message.ts';
import { incinerator, rentExemptMinimum, systemProgram } from '../../../formats/solana/programs.ts';
import { type Account, type AccountChanges, type AccountReader, Overlay } from '../accounts.ts';
import { type Budget, readBudget } from './budget.ts';
import { fail, InstructionFailure, type TransactionError } from './errors.ts';
import {
  ComputeMeter,
  type InnerInstruction,
  Logs,
  type ProgramTable,
  runInstruction,
  type TransactionScope,
} from './invocation.ts';
import { resolveLookups } from './lookups.ts';
import { advanced, nonceOf, usedNonce } from './nonces.ts';

/** When and as which a transaction is executed. */
export type Environment = Pick<TransactionScope, 'slot' | 'now' | 'nextNonce'>;

const maxAccountLocks = 64;

export interface Execution {
  /** What was executed, with the addresses its lookups stand for. */
  readonly message: Message;
  readonly error: TransactionError | undefined;
  /** Undefined when the transaction may not even pay its fee: then it is not recorded at all. */
  readonly fee: bigint | undefined;
  readonly changes: AccountChanges;
  readonly logs: readonly string[];
  readonly unitsConsumed: number;
  readonly inner: readonly InnerInstruction[];
  readonly returnData: TransactionScope['returnData'];
}

export function executeTransaction(
  unresolved: Message,
  accounts: AccountReader,
  programs: ProgramTable,
  environment: Environment,
): Execution {
  const message = resolveLookups(unresolved, accounts, environment.slot);
  if ('error' in message) return refused(unresolved, message.error);
  const problem = checkLocks(message);
  if (problem !== undefined) return refused(message, problem);
  const budget = readBudget(message);
  if ('error' in budget) return refused(message, budget.error);
  const payer = message.keys[0]!;
  const charged = chargeFee(accounts.get(payer), budget.fee);
  if ('error' in charged) return refused(message, charged.error);

  const nonce = usedNonce(message, accounts);
  const afterFee = new Overlay(accounts);
  afterFee.set(payer, charged.account);
  const work = new Overlay(afterFee);
  const scope: TransactionScope = {
    state: work,
    programs,
    ...environment,
    logs: new Logs(),
    meter: new ComputeMeter(budget.unitLimit),
    inner: [],
    returnData: undefined,
  };
  const error = runAll(message, scope, work, accounts) ?? checkRent(message, afterFee, work);
  if (error === undefined) afterFee.absorb(work.changes());
  else if (nonce !== undefined) {
    afterFee.set(nonce, advanced(afterFee.get(nonce), environment.nextNonce()));
  }
  return {
    message,
    error,
    fee: budget.fee,
    changes: afterFee.changes(),
    logs: scope.logs.lines,
    unitsConsumed: scope.meter.used,
    inner: error === undefined ? scope.inner : [],
    returnData: scope.returnData,
  };
}

/** The fee a message would pay, or undefined where its budget makes no sense. */
export function feeOf(message: Message): bigint | undefined {
  const budget = readBudget(message);
  return 'error' in budget ? undefined : budget.fee;
}

/** A transaction that was not even begun. */
export function refused(message: Message, error: TransactionError): Execution {
  return {
    message,
    error,
    fee: undefined,
    changes: new Map(),
    logs: [],
    unitsConsumed: 0,
    inner: [],
    returnData: undefined,
  };
}

function checkLocks(message: Message): TransactionError | undefined {
  if (message.keys.length > maxAccountLocks) return 'TooManyAccountLocks';
  if (new Set(message.keys).size !== message.keys.length) return 'AccountLoadedTwice';
  return undefined;
}

function chargeFee(payer: Account, fee: Budget['fee']): { account: Account } | { error: TransactionError } {
  if (payer.lamports === 0n) return { error: 'AccountNotFound' };
  const isNonce = nonceOf(payer) !== undefined;
  if (payer.owner !== systemProgram || (payer.data.length > 0 && !isNonce)) {
    return { error: 'InvalidAccountForFee' };
  }
  const kept = isNonce ? rentExemptMinimum(payer.data.length) : 0n;
  if (payer.lamports < kept + fee) return { error: 'InsufficientFundsForFee' };
  const account = { ...payer, lamports: payer.lamports - fee };
  const wasExempt = payer.lamports >= rentExemptMinimum(0);
  if (account.lamports > 0n && wasExempt && account.lamports < rentExemptMinimum(0)) {
    return { error: { InsufficientFundsForRent: { account_index: 0 } } };
  }
  return { account };
}

function runAll(
  message: Message,
  scope: TransactionScope,
  work: Overlay,
  before: AccountReader,
): TransactionError | undefined {
  for (const { programIndex } of message.instructions) {
    const program = before.get(message.keys[programIndex]!);
    if (program.lamports === 0n) return 'ProgramAccountNotFound';
    if (!program.executable) return 'InvalidProgramForExecution';
  }
  for (const [index, compiled] of message.instructions.entries()) {
    try {
      runInstruction(expand(message, compiled), scope, index, 0);
      // No program makes lamports or loses them.
      if (work.difference() !== 0n) fail('UnbalancedInstruction');
    } catch (error) {
      if (error instanceof InstructionFailure) return { InstructionError: [index, error.error] };
      throw error;
    }
  }
  return undefined;
}

function expand(message: Message, compiled: Message['instructions'][number]): Instruction {
  const meta = (index: number): AccountMeta => ({
    address: message.keys[index]!,
    signer: index < message.requiredSignatures,
    writable: isWritableKey(message, index),
  });
  return {
    programId: message.keys[compiled.programIndex]!,
    accounts: compiled.accounts.map(meta),
    data: compiled.data,
  };
}

/** Every account that may have changed ends empty, rent-exempt, or no worse than it was. */
function checkRent(message: Message, before: AccountReader, work: Overlay): TransactionError | undefined {
  for (const [index, address] of message.keys.entries()) {
    if (!isWritableKey(message, index) || !work.has(address)) continue;
    if (!rentHolds(address, before.get(address), work.get(address))) {
      return { InsufficientFundsForRent: { account_index: index } };
    }
  }
  return undefined;
}

function rentHolds(address: SolanaAddress, before: Account, after: Account): boolean {
  if (after.lamports === 0n || after.lamports >= rentExemptMinimum(after.data.length)) return true;
  if (address === incinerator) return true;
  const wasPaying = before.lamports > 0n && before.lamports < rentExemptMinimum(before.data.length);
  return wasPaying && after.data.length === before.data.length && after.lamports <= before.lamports;
}
