/**
 * One call of one program: the accounts it was given, with their rights, over the state of the transaction.
 * Every write goes through here and obeys the runtime's rules: only writable accounts change, only the owning
 * program takes lamports or writes data, a program may sign for its own derived addresses and no others.
 */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import type { AccountMeta, Instruction } from '../../../formats/solana/message.ts';
import { tryCreateProgramAddress } from '../../../formats/solana/pda.ts';
import { systemProgram } from '../../../formats/solana/programs.ts';
import { type Account, emptyAccount, type Overlay } from '../accounts.ts';
import { fail, InstructionFailure } from './errors.ts';

/** What all calls of one transaction share. */
export interface TransactionScope {
  readonly state: Overlay;
  readonly programs: ProgramTable;
  /** Unix seconds of the block. */
  readonly now: number;
  readonly slot: number;
  /** The value that a nonce advanced by this transaction gets. */
  readonly nextNonce: () => Buffer;
  readonly logs: Logs;
  readonly meter: ComputeMeter;
  readonly inner: InnerInstruction[];
  returnData: { readonly programId: SolanaAddress; readonly data: Buffer } | undefined;
}

export interface InnerInstruction {
  /** Which instruction of the transaction it happened in. */
  readonly outer: number;
  readonly depth: number;
  readonly instruction: Instruction;
}

export interface Program {
  /** Compute units of one call. */
  readonly units: (data: Uint8Array) => number;
  readonly run: (call: Invocation) => void;
}

export type ProgramTable = ReadonlyMap<SolanaAddress, Program>;

export const maxCallDepth = 5;
const maxGrowthPerCall = 10_240;
export const maxAccountData = 10 * 1024 * 1024;

/** Lines as a validator writes them, cut off at 10 kB. */
export class Logs {
  readonly lines: string[] = [];
  #bytes = 0;

  add(line: string): void {
    if (this.#bytes > 10_000) return;
    this.#bytes += line.length;
    this.lines.push(this.#bytes > 10_000 ? 'Log truncated' : line);
  }
}

export class ComputeMeter {
  readonly limit: number;
  used = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  charge(units: number): void {
    if (this.used + units > this.limit) {
      this.used = this.limit;
      fail('ComputationalBudgetExceeded');
    }
    this.used += units;
  }
}

export class Invocation {
  readonly programId: SolanaAddress;
  readonly accounts: readonly AccountMeta[];
  readonly data: Buffer;
  readonly scope: TransactionScope;
  readonly outer: number;
  readonly depth: number;
  readonly #rights = new Map<SolanaAddress, { signer: boolean; writable: boolean }>();
  readonly #sizes = new Map<SolanaAddress, number>();

  constructor(instruction: Instruction, scope: TransactionScope, outer: number, depth: number) {
    this.programId = instruction.programId;
    this.accounts = instruction.accounts;
    this.data = Buffer.from(
      instruction.data.buffer,
      instruction.data.byteOffset,
      instruction.data.byteLength,
    );
    this.scope = scope;
    this.outer = outer;
    this.depth = depth;
    for (const meta of instruction.accounts) {
      const known = this.#rights.get(meta.address);
      this.#rights.set(meta.address, {
        signer: meta.signer || (known?.signer ?? false),
        writable: meta.writable || (known?.writable ?? false),
      });
    }
  }

  get now(): number {
    return this.scope.now;
  }

  get slot(): number {
    return this.scope.slot;
  }

  /** The address at a place of the account list. */
  address(index: number): SolanaAddress {
    return this.accounts[index]?.address ?? fail('NotEnoughAccountKeys');
  }

  account(address: SolanaAddress): Account {
    return this.scope.state.get(address);
  }

  isSigner(address: SolanaAddress): boolean {
    return this.#rights.get(address)?.signer ?? false;
  }

  isWritable(address: SolanaAddress): boolean {
    return this.#rights.get(address)?.writable ?? false;
  }

  requireSigner(address: SolanaAddress): void {
    if (!this.isSigner(address)) fail('MissingRequiredSignature');
  }

  log(text: string): void {
    this.scope.logs.add(`Program log: ${text}`);
  }

  returns(data: Buffer): void {
    this.scope.returnData = { programId: this.programId, data };
    this.scope.logs.add(`Program return: ${this.programId} ${data.toString('base64')}`);
  }

  /** Moves lamports out of an account this program owns. */
  moveLamports(from: SolanaAddress, to: SolanaAddress, lamports: bigint): void {
    if (lamports === 0n || from === to) return;
    const source = this.account(from);
    if (source.owner !== this.programId) fail('ExternalAccountLamportSpend');
    if (!this.isWritable(from) || !this.isWritable(to)) fail('ReadonlyLamportChange');
    if (source.lamports < lamports) fail('InsufficientFunds');
    this.scope.state.set(from, { ...source, lamports: source.lamports - lamports });
    const target = this.account(to);
    this.scope.state.set(to, { ...target, lamports: target.lamports + lamports });
  }

  writeData(address: SolanaAddress, data: Buffer): void {
    const account = this.account(address);
    if (account.owner !== this.programId) fail('ExternalAccountDataModified');
    if (!this.isWritable(address)) fail('ReadonlyDataModified');
    const before = this.#sizes.get(address) ?? account.data.length;
    this.#sizes.set(address, before);
    const bounded = this.depth > 0 || this.programId !== systemProgram;
    if (bounded && data.length > before + maxGrowthPerCall) fail('InvalidRealloc');
    if (data.length > maxAccountData) fail('InvalidRealloc');
    this.scope.state.set(address, { ...account, data });
  }

  assign(address: SolanaAddress, owner: SolanaAddress): void {
    const account = this.account(address);
    if (account.owner === owner) return;
    if (account.owner !== this.programId || !this.isWritable(address)) fail('ModifiedProgramId');
    if (account.data.some((byte) => byte !== 0)) fail('ModifiedProgramId');
    this.scope.state.set(address, { ...account, owner });
  }

  /** Gives an account back: its lamports to `beneficiary`, its data and owner to nobody. */
  close(address: SolanaAddress, beneficiary: SolanaAddress): void {
    this.moveLamports(address, beneficiary, this.account(address).lamports);
    this.scope.state.set(address, emptyAccount);
  }

  /** Calls another program. `seeds` let this one sign for addresses derived from it. */
  invoke(instruction: Instruction, ...seeds: readonly (readonly Uint8Array[])[]): void {
    if (this.depth + 1 >= maxCallDepth) fail('CallDepth');
    if (!this.#rights.has(instruction.programId)) fail('MissingAccount');
    const derived = new Set(seeds.map((list) => tryCreateProgramAddress(list, this.programId)));
    for (const meta of instruction.accounts) {
      if (!this.#rights.has(meta.address)) fail('MissingAccount');
      if (meta.writable && !this.isWritable(meta.address)) fail('PrivilegeEscalation');
      if (meta.signer && !this.isSigner(meta.address) && !derived.has(meta.address))
        fail('PrivilegeEscalation');
    }
    this.scope.inner.push({ outer: this.outer, depth: this.depth + 1, instruction });
    runInstruction(instruction, this.scope, this.outer, this.depth + 1);
  }
}

/** Runs one call with its log lines and its share of the compute budget. */
export function runInstruction(
  instruction: Instruction,
  scope: TransactionScope,
  outer: number,
  depth: number,
): void {
  const { logs, meter } = scope;
  const program = scope.programs.get(instruction.programId);
  if (program === undefined) fail('UnsupportedProgramId');
  logs.add(`Program ${instruction.programId} invoke [${depth + 1}]`);
  const left = meter.limit - meter.used;
  try {
    meter.charge(program.units(instruction.data));
    program.run(new Invocation(instruction, scope, outer, depth));
    logs.add(
      `Program ${instruction.programId} consumed ${left - (meter.limit - meter.used)} of ${left} compute units`,
    );
    logs.add(`Program ${instruction.programId} success`);
  } catch (error) {
    if (error instanceof InstructionFailure) {
      logs.add(`Program ${instruction.programId} failed: ${error.message}`);
    }
    throw error;
  }
}
