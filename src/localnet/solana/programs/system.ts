/** The System program: makes accounts and moves lamports between wallets. */
import { createHash } from 'node:crypto';
import { addressBytes, type SolanaAddress, toSolanaAddress } from '../../../formats/solana/address.ts';
import { Reader } from '../../../formats/solana/bytes.ts';
import { systemInstruction } from '../../../formats/solana/system.ts';
import { fail, failCustom, parsed } from '../runtime/errors.ts';
import { type Invocation, maxAccountData, type Program } from '../runtime/invocation.ts';

const systemError = {
  accountInUse: 0,
  resultWithNegativeLamports: 1,
  invalidProgramId: 2,
  invalidAccountDataLength: 3,
  addressWithSeedMismatch: 5,
} as const;

const handlers: Readonly<Record<number, (call: Invocation, reader: Reader) => void>> = {
  [systemInstruction.transfer]: (call, reader) =>
    transfer(call, call.address(0), call.address(1), reader.u64()),
  [systemInstruction.createAccount]: createAccount,
  [systemInstruction.assign]: (call, reader) => {
    const address = call.address(0);
    const owner = reader.address();
    if (call.account(address).owner === owner) return;
    call.requireSigner(address);
    call.assign(address, owner);
  },
  [systemInstruction.allocate]: (call, reader) => {
    call.requireSigner(call.address(0));
    allocate(call, call.address(0), reader.u64());
  },
  [systemInstruction.createAccountWithSeed]: createWithSeed,
};

export const system: Program = {
  units: () => 150,
  run(call) {
    parsed(() => {
      const reader = new Reader(call.data);
      const handler = handlers[reader.u32()] ?? fail('InvalidInstructionData');
      handler(call, reader);
    });
  },
};

function transfer(call: Invocation, from: SolanaAddress, to: SolanaAddress, lamports: bigint): void {
  call.requireSigner(from);
  const source = call.account(from);
  if (source.data.length > 0) {
    call.log('Transfer: `from` must not carry data');
    fail('InvalidArgument');
  }
  if (lamports > source.lamports) {
    call.scope.logs.add(`Transfer: insufficient lamports ${source.lamports}, need ${lamports}`);
    failCustom(systemError.resultWithNegativeLamports);
  }
  call.moveLamports(from, to, lamports);
}

function allocate(call: Invocation, address: SolanaAddress, space: bigint): void {
  const account = call.account(address);
  if (account.data.length > 0 || account.owner !== call.programId) {
    call.scope.logs.add(`Allocate: account Address { address: ${address}, base: None } already in use`);
    failCustom(systemError.accountInUse);
  }
  if (space > BigInt(maxAccountData)) failCustom(systemError.invalidAccountDataLength);
  call.writeData(address, Buffer.alloc(Number(space)));
}

function createAccount(call: Invocation, reader: Reader): void {
  const address = call.address(1);
  const lamports = reader.u64();
  const space = reader.u64();
  const owner = reader.address();
  if (call.account(address).lamports > 0n) {
    call.scope.logs.add(`Create Account: account Address { address: ${address}, base: None } already in use`);
    failCustom(systemError.accountInUse);
  }
  call.requireSigner(address);
  allocate(call, address, space);
  call.assign(address, owner);
  transfer(call, call.address(0), address, lamports);
}

/** The address is a hash of a base wallet, a text and the owner; the base signs for it. */
function createWithSeed(call: Invocation, reader: Reader): void {
  const base = reader.address();
  const seed = reader.take(Number(reader.u64()));
  const lamports = reader.u64();
  const space = reader.u64();
  const owner = reader.address();
  const address = call.address(1);
  const digest = createHash('sha256')
    .update(addressBytes(base))
    .update(seed)
    .update(addressBytes(owner))
    .digest();
  if (seed.length > 32 || toSolanaAddress(digest) !== address) {
    failCustom(systemError.addressWithSeedMismatch);
  }
  call.requireSigner(base);
  if (call.account(address).lamports > 0n) failCustom(systemError.accountInUse);
  allocate(call, address, space);
  call.assign(address, owner);
  transfer(call, call.address(0), address, lamports);
}
