/** The System program: makes accounts, moves lamports between wallets, keeps nonces (nonce.ts). */
import { createHash } from 'node:crypto';
import { addressBytes, type SolanaAddress, toSolanaAddress } from '../../../formats/solana/address.ts';
import { Reader } from '../../../formats/solana/bytes.ts';
import { systemInstruction } from '../../../formats/solana/system.ts';
import { fail, failCustom, parsed } from '../runtime/errors.ts';
import { type Invocation, maxAccountData, type Program } from '../runtime/invocation.ts';
import { advanceNonce, authorizeNonce, initializeNonce, upgradeNonce, withdrawNonce } from './nonce.ts';

const systemError = {
  accountInUse: 0,
  resultWithNegativeLamports: 1,
  invalidAccountDataLength: 3,
  addressWithSeedMismatch: 5,
} as const;

/** Errors of a derivation have numbers of their own. */
const seedError = { maxLengthExceeded: 0, illegalOwner: 2 } as const;

const maxSeed = 32;
/** Addresses that end so belong to programs; none is derived from an owner that does. */
const derivedMarker = Buffer.from('ProgramDerivedAddress');

const handlers: Readonly<Record<number, (call: Invocation, reader: Reader) => void>> = {
  [systemInstruction.createAccount]: (call, reader) => {
    const [lamports, space, owner] = [reader.u64(), reader.u64(), reader.address()];
    const address = call.address(1);
    create(call, { address, signer: address }, lamports, space, owner);
  },
  [systemInstruction.createAccountWithSeed]: (call, reader) => {
    const { base, seed } = readSeed(reader);
    const [lamports, space, owner] = [reader.u64(), reader.u64(), reader.address()];
    create(call, seeded(call, call.address(1), base, seed, owner), lamports, space, owner);
  },
  [systemInstruction.assign]: (call, reader) => {
    const address = call.address(0);
    assign(call, { address, signer: address }, reader.address());
  },
  [systemInstruction.assignWithSeed]: (call, reader) => {
    const { base, seed } = readSeed(reader);
    const owner = reader.address();
    assign(call, seeded(call, call.address(0), base, seed, owner), owner);
  },
  [systemInstruction.allocate]: (call, reader) => {
    const address = call.address(0);
    allocate(call, { address, signer: address }, reader.u64());
  },
  [systemInstruction.allocateWithSeed]: (call, reader) => {
    const { base, seed } = readSeed(reader);
    const [space, owner] = [reader.u64(), reader.address()];
    const place = seeded(call, call.address(0), base, seed, owner);
    allocate(call, place, space);
    assign(call, place, owner);
  },
  [systemInstruction.transfer]: (call, reader) => {
    const lamports = reader.u64();
    const from = call.address(0);
    call.address(1);
    call.requireSigner(from);
    move(call, from, call.address(1), lamports);
  },
  [systemInstruction.transferWithSeed]: (call, reader) => {
    const [lamports, seed, owner] = [reader.u64(), readText(reader), reader.address()];
    const [from, base, to] = [call.address(0), call.address(1), call.address(2)];
    call.requireSigner(base);
    seeded(call, from, base, seed, owner);
    move(call, from, to, lamports);
  },
  [systemInstruction.advanceNonce]: advanceNonce,
  [systemInstruction.withdrawNonce]: (call, reader) => withdrawNonce(call, reader.u64()),
  [systemInstruction.initializeNonce]: (call, reader) => initializeNonce(call, reader.address()),
  [systemInstruction.authorizeNonce]: (call, reader) => authorizeNonce(call, reader.address()),
  [systemInstruction.upgradeNonce]: upgradeNonce,
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

/** An account, and who signs for it: itself, or the wallet it is derived from. */
interface Place {
  readonly address: SolanaAddress;
  readonly signer: SolanaAddress;
}

function readSeed(reader: Reader): { base: SolanaAddress; seed: Buffer } {
  return { base: reader.address(), seed: readText(reader) };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function readText(reader: Reader): Buffer {
  const length = reader.u64();
  if (length > BigInt(reader.remaining)) fail('InvalidInstructionData');
  const text = reader.take(Number(length));
  try {
    utf8.decode(text);
  } catch {
    fail('InvalidInstructionData');
  }
  return text;
}

/** The place of an address that is a hash of a base wallet, a text and an owner. */
function seeded(
  call: Invocation,
  address: SolanaAddress,
  base: SolanaAddress,
  seed: Buffer,
  owner: SolanaAddress,
): Place {
  if (seed.length > maxSeed) failCustom(seedError.maxLengthExceeded);
  const ownerBytes = addressBytes(owner);
  if (ownerBytes.subarray(-derivedMarker.length).equals(derivedMarker)) failCustom(seedError.illegalOwner);
  const digest = createHash('sha256').update(addressBytes(base)).update(seed).update(ownerBytes).digest();
  const derived = toSolanaAddress(digest);
  if (derived !== address) {
    call.scope.logs.add(`Create: address ${address} does not match derived address ${derived}`);
    failCustom(systemError.addressWithSeedMismatch);
  }
  return { address, signer: base };
}

function move(call: Invocation, from: SolanaAddress, to: SolanaAddress, lamports: bigint): void {
  const source = call.account(from);
  if (source.data.length > 0) {
    call.scope.logs.add('Transfer: `from` must not carry data');
    fail('InvalidArgument');
  }
  if (lamports > source.lamports) {
    call.scope.logs.add(`Transfer: insufficient lamports ${source.lamports}, need ${lamports}`);
    failCustom(systemError.resultWithNegativeLamports);
  }
  call.moveLamports(from, to, lamports);
}

function allocate(call: Invocation, { address, signer }: Place, space: bigint): void {
  call.requireSigner(signer);
  const account = call.account(address);
  if (account.data.length > 0 || account.owner !== call.programId) {
    call.scope.logs.add(`Allocate: account Address { address: ${address}, base: None } already in use`);
    failCustom(systemError.accountInUse);
  }
  if (space > BigInt(maxAccountData)) failCustom(systemError.invalidAccountDataLength);
  call.writeData(address, Buffer.alloc(Number(space)));
}

function assign(call: Invocation, { address, signer }: Place, owner: SolanaAddress): void {
  if (call.account(address).owner === owner) return;
  call.requireSigner(signer);
  call.assign(address, owner);
}

function create(call: Invocation, place: Place, lamports: bigint, space: bigint, owner: SolanaAddress): void {
  const { address } = place;
  if (call.account(address).lamports > 0n) {
    call.scope.logs.add(`Create Account: account Address { address: ${address}, base: None } already in use`);
    failCustom(systemError.accountInUse);
  }
  allocate(call, place, space);
  assign(call, place, owner);
  const payer = call.address(0);
  call.requireSigner(payer);
  move(call, payer, address, lamports);
}
