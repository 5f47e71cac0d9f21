/**
 * What the Anchor framework does before a handler of the name programs runs: finds the instruction by its eight
 * bytes and checks the accounts it was given, with Anchor's own error codes.
 */
import { FormatError } from '../../../formats/format-error.ts';
import { schemaVersion } from '../../../formats/solana/accounts-arns.ts';
import { addressBytes, type SolanaAddress } from '../../../formats/solana/address.ts';
import type { AccountKind, InstructionKind } from '../../../formats/solana/anchor.ts';
import { Writer } from '../../../formats/solana/bytes.ts';
import { writableSigner } from '../../../formats/solana/message.ts';
import type { DerivedAddress } from '../../../formats/solana/pda.ts';
import type { ProgramError } from '../../../formats/solana/program-errors.ts';
import { rentExemptMinimum, systemProgram } from '../../../formats/solana/programs.ts';
import { createAccount, systemInstruction, transferLamports } from '../../../formats/solana/system.ts';
import { failCustom } from '../runtime/errors.ts';
import type { Invocation, Program } from '../runtime/invocation.ts';

const anchorErrors = {
  InstructionFallbackNotFound: 101,
  InstructionDidNotDeserialize: 102,
  ConstraintMut: 2000,
  ConstraintRaw: 2003,
  ConstraintSeeds: 2006,
  AccountDiscriminatorMismatch: 3002,
  AccountDidNotDeserialize: 3003,
  AccountNotEnoughKeys: 3005,
  AccountOwnedByWrongProgram: 3007,
  InvalidProgramId: 3008,
  AccountNotSigner: 3010,
  AccountNotInitialized: 3012,
} as const;

type AnchorErrorName = keyof typeof anchorErrors;

export function failAnchor(call: Invocation, name: AnchorErrorName, account?: string): never {
  const where = account === undefined ? 'occurred' : `caused by account: ${account}`;
  const code = anchorErrors[name];
  call.log(`AnchorError ${where}. Error Code: ${name}. Error Number: ${code}.`);
  failCustom(code);
}

/** Fails with an error of the program itself. */
export function failProgram(call: Invocation, error: ProgramError): never {
  const { name, code, message } = error;
  call.log(`AnchorError occurred. Error Code: ${name}. Error Number: ${code}. Error Message: ${message}.`);
  failCustom(code);
}

export interface Handler {
  readonly mark: string;
  readonly title: string;
  readonly units: number;
  readonly run: (call: Invocation) => void;
}

/** Binds a handler to its instruction; arguments are read before it runs. */
export function handler<A>(
  kind: InstructionKind<A>,
  units: number,
  run: (call: AnchorCall, args: A) => void,
): Handler {
  return {
    mark: kind.discriminator.toString('hex'),
    title: kind.name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    units,
    run(call) {
      let args: A;
      try {
        args = kind.decode(call.data.subarray(8));
      } catch (error) {
        if (error instanceof FormatError) failAnchor(call, 'InstructionDidNotDeserialize');
        throw error;
      }
      run(new AnchorCall(call), args);
    },
  };
}

export function anchorProgram(handlers: readonly Handler[]): Program {
  const byMark = new Map(handlers.map((entry) => [entry.mark, entry]));
  const find = (data: Uint8Array) => byMark.get(Buffer.from(data.subarray(0, 8)).toString('hex'));
  return {
    units: (data) => find(data)?.units ?? 1_000,
    run(call) {
      const found = find(call.data);
      if (found === undefined) failAnchor(call, 'InstructionFallbackNotFound');
      call.log(`Instruction: ${found.title}`);
      found.run(call);
    },
  };
}

/** What every account at a derived address ends with. */
export const stamp = ({ bump }: DerivedAddress) => ({ bump, version: schemaVersion });

/** An account with its decoded contents. */
export interface Typed<T> {
  readonly address: SolanaAddress;
  value: T;
}

/** Reads the account list in order, checking each place as its constraint says. */
export class AnchorCall {
  readonly call: Invocation;
  #next = 0;

  constructor(call: Invocation) {
    this.call = call;
  }

  get now(): number {
    return this.call.now;
  }

  /** The next place, unchecked. */
  any(): SolanaAddress {
    const meta = this.call.accounts[this.#next];
    if (meta === undefined) failAnchor(this.call, 'AccountNotEnoughKeys');
    this.#next += 1;
    return meta.address;
  }

  /** What is left of the list. */
  rest(): readonly SolanaAddress[] {
    return this.call.accounts.slice(this.#next).map((meta) => meta.address);
  }

  writable(name: string): SolanaAddress {
    const address = this.any();
    if (!this.call.isWritable(address)) failAnchor(this.call, 'ConstraintMut', name);
    return address;
  }

  signer(name: string, rights: 'w' | 'r' = 'w'): SolanaAddress {
    const address = this.any();
    if (!this.call.isSigner(address)) failAnchor(this.call, 'AccountNotSigner', name);
    if (rights === 'w' && !this.call.isWritable(address)) failAnchor(this.call, 'ConstraintMut', name);
    return address;
  }

  systemProgram(): void {
    this.program(systemProgram, 'system_program');
  }

  program(id: SolanaAddress, name: string): SolanaAddress {
    if (this.any() !== id) failAnchor(this.call, 'InvalidProgramId', name);
    return id;
  }

  /** An account of this program that must exist. `derive` answers where its contents say it belongs. */
  typed<T>(
    kind: AccountKind<T>,
    name: string,
    rights: 'w' | 'r',
    derive: (value: T) => DerivedAddress,
  ): Typed<T> {
    const address = rights === 'w' ? this.writable(name) : this.any();
    const value = this.decode(kind, address, name);
    if (derive(value).address !== address) failAnchor(this.call, 'ConstraintSeeds', name);
    return { address, value };
  }

  decode<T>(kind: AccountKind<T>, address: SolanaAddress, name: string): T {
    const account = this.call.account(address);
    if (account.owner === systemProgram && account.data.length === 0) {
      failAnchor(this.call, 'AccountNotInitialized', name);
    }
    if (account.owner !== this.call.programId) failAnchor(this.call, 'AccountOwnedByWrongProgram', name);
    if (!kind.matches(account.data)) failAnchor(this.call, 'AccountDiscriminatorMismatch', name);
    try {
      return kind.decode(account.data);
    } catch (error) {
      if (error instanceof FormatError) failAnchor(this.call, 'AccountDidNotDeserialize', name);
      throw error;
    }
  }

  /** The next place must be this derived address, which may or may not exist. */
  derived(expected: DerivedAddress, name: string): DerivedAddress {
    if (this.writable(name) !== expected.address) failAnchor(this.call, 'ConstraintSeeds', name);
    return expected;
  }

  exists(address: SolanaAddress): boolean {
    const account = this.call.account(address);
    return account.owner !== systemProgram || account.data.length > 0;
  }

  /** Makes the account at a derived address and fills it. */
  create<T>(kind: AccountKind<T>, payer: SolanaAddress, derived: DerivedAddress, value: T): void {
    createDerivedAccount(this.call, payer, derived, kind.space);
    this.call.writeData(derived.address, kind.encode(value));
  }

  /** Fills the account at a derived address, made at the payer's cost where it is not there. */
  put<T>(kind: AccountKind<T>, payer: SolanaAddress, derived: DerivedAddress, value: T): void {
    if (this.exists(derived.address)) this.save(kind, { address: derived.address, value });
    else this.create(kind, payer, derived, value);
  }

  save<T>(kind: AccountKind<T>, account: Typed<T>, change: Partial<T> = {}): void {
    account.value = { ...account.value, ...change };
    const { length } = this.call.account(account.address).data;
    this.call.writeData(account.address, kind.encode(account.value, length));
  }
}

/** The account must be empty: a used one fails with "already in use". */
export function createDerivedAccount(
  call: Invocation,
  payer: SolanaAddress,
  { address, seeds }: DerivedAddress,
  space: number,
  owner: SolanaAddress = call.programId,
): void {
  const held = call.account(address).lamports;
  const rent = rentExemptMinimum(space);
  if (held === 0n) {
    call.invoke(createAccount(payer, address, rent, space, owner), seeds);
    return;
  }
  if (held < rent) call.invoke(transferLamports(payer, address, rent - held));
  const system = (data: Buffer) => ({ programId: systemProgram, accounts: [writableSigner(address)], data });
  call.invoke(system(new Writer().u32(systemInstruction.allocate).u64(BigInt(space)).finish()), seeds);
  call.invoke(system(new Writer().u32(systemInstruction.assign).bytes(addressBytes(owner)).finish()), seeds);
}
