/** SPL Token: mints, token accounts, transfers. Native SOL and multisignature owners are not kept here. */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { Reader } from '../../../formats/solana/bytes.ts';
import { rentExemptMinimum } from '../../../formats/solana/programs.ts';
import {
  decodeMint,
  decodeTokenAccount,
  encodeMint,
  encodeTokenAccount,
  type Mint,
  mintSize,
  type TokenAccount,
  tokenAccountSize,
  tokenInstruction,
} from '../../../formats/solana/token.ts';
import { fail, failCustom, parsed } from '../runtime/errors.ts';
import type { Invocation, Program } from '../runtime/invocation.ts';

const tokenError = {
  notRentExempt: 0,
  insufficientFunds: 1,
  invalidMint: 2,
  mintMismatch: 3,
  ownerMismatch: 4,
  fixedSupply: 5,
  alreadyInUse: 6,
  uninitializedState: 9,
  nonNativeHasBalance: 11,
  invalidInstruction: 12,
  overflow: 14,
  accountFrozen: 17,
  mintDecimalsMismatch: 18,
} as const;

const maxAmount = 2n ** 64n - 1n;

const handlers: Readonly<Record<number, (call: Invocation, reader: Reader) => void>> = {
  [tokenInstruction.initializeMint]: initializeMint,
  [tokenInstruction.initializeMint2]: initializeMint,
  [tokenInstruction.initializeAccount]: (call) => initializeAccount(call, call.address(2)),
  [tokenInstruction.initializeAccount3]: (call, reader) => initializeAccount(call, reader.address()),
  [tokenInstruction.transfer]: (call, reader) => transfer(call, [0, 1, 2], reader.u64()),
  [tokenInstruction.transferChecked]: (call, reader) =>
    transfer(call, [0, 2, 3], reader.u64(), { decimals: reader.u8(), mint: call.address(1) }),
  [tokenInstruction.approve]: approve,
  [tokenInstruction.revoke]: revoke,
  [tokenInstruction.mintTo]: (call, reader) => mintTo(call, reader.u64(), undefined),
  [tokenInstruction.mintToChecked]: (call, reader) => mintTo(call, reader.u64(), reader.u8()),
  [tokenInstruction.burn]: burn,
  [tokenInstruction.closeAccount]: closeAccount,
};

export const token: Program = {
  units: () => 4_645,
  run(call) {
    const handler = handlers[call.data[0] ?? -1];
    if (handler === undefined) failCustom(tokenError.invalidInstruction);
    parsed(() => handler(call, new Reader(call.data.subarray(1))));
  },
};

function readAccount(call: Invocation, address: SolanaAddress): TokenAccount {
  const account = call.account(address);
  if (account.owner !== call.programId) fail('IncorrectProgramId');
  const value = parsed(() => decodeTokenAccount(account.data), 'InvalidAccountData');
  if (value.state === 'uninitialized') fail('UninitializedAccount');
  if (value.state === 'frozen') failCustom(tokenError.accountFrozen);
  return value;
}

function readMint(call: Invocation, address: SolanaAddress): Mint {
  const account = call.account(address);
  if (account.owner !== call.programId) fail('IncorrectProgramId');
  const mint = parsed(() => decodeMint(account.data), 'InvalidAccountData');
  if (!mint.initialized) fail('UninitializedAccount');
  return mint;
}

const writeAccount = (call: Invocation, address: SolanaAddress, account: TokenAccount): void =>
  call.writeData(address, encodeTokenAccount(account));

const writeMint = (call: Invocation, address: SolanaAddress, mint: Mint): void =>
  call.writeData(address, encodeMint(mint));

function initializeMint(call: Invocation, reader: Reader): void {
  const address = call.address(0);
  const account = call.account(address);
  const decimals = reader.u8();
  const authority = reader.address();
  const freezeAuthority = reader.u8() === 1 ? reader.address() : undefined;
  if (account.data.length !== mintSize) fail('InvalidAccountData');
  if (decodeMint(account.data).initialized) failCustom(tokenError.alreadyInUse);
  if (account.lamports < rentExemptMinimum(mintSize)) failCustom(tokenError.notRentExempt);
  writeMint(call, address, { authority, supply: 0n, decimals, initialized: true, freezeAuthority });
}

function initializeAccount(call: Invocation, owner: SolanaAddress): void {
  const address = call.address(0);
  const mint = call.address(1);
  const account = call.account(address);
  if (account.data.length !== tokenAccountSize) fail('InvalidAccountData');
  if (account.data[108] !== 0) failCustom(tokenError.alreadyInUse);
  if (account.lamports < rentExemptMinimum(tokenAccountSize)) failCustom(tokenError.notRentExempt);
  const mintAccount = call.account(mint);
  if (mintAccount.owner !== call.programId || mintAccount.data.length !== mintSize) {
    failCustom(tokenError.invalidMint);
  }
  writeAccount(call, address, newTokenAccount(mint, owner));
}

export function newTokenAccount(mint: SolanaAddress, owner: SolanaAddress): TokenAccount {
  return {
    mint,
    owner,
    amount: 0n,
    delegate: undefined,
    state: 'initialized',
    delegatedAmount: 0n,
    closeAuthority: undefined,
  };
}

/** `places` are of the source, the target and the authority; a checked transfer names the mint and its decimals. */
function transfer(
  call: Invocation,
  places: readonly [number, number, number],
  amount: bigint,
  checked?: { readonly decimals: number; readonly mint: SolanaAddress },
): void {
  const [from, to, authority] = [call.address(places[0]), call.address(places[1]), call.address(places[2])];
  const source = readAccount(call, from);
  const target = readAccount(call, to);
  if (source.amount < amount) failCustom(tokenError.insufficientFunds);
  if (source.mint !== target.mint) failCustom(tokenError.mintMismatch);
  if (checked !== undefined) {
    if (checked.mint !== source.mint) failCustom(tokenError.mintMismatch);
    if (readMint(call, source.mint).decimals !== checked.decimals)
      failCustom(tokenError.mintDecimalsMismatch);
  }
  const delegated = source.delegate === authority && source.owner !== authority;
  if (!delegated && source.owner !== authority) failCustom(tokenError.ownerMismatch);
  call.requireSigner(authority);
  if (delegated && source.delegatedAmount < amount) failCustom(tokenError.insufficientFunds);
  if (from === to) return;
  if (target.amount + amount > maxAmount) failCustom(tokenError.overflow);
  const left = delegated ? source.delegatedAmount - amount : source.delegatedAmount;
  writeAccount(call, from, {
    ...source,
    amount: source.amount - amount,
    delegatedAmount: left,
    delegate: delegated && left === 0n ? undefined : source.delegate,
  });
  writeAccount(call, to, { ...target, amount: target.amount + amount });
}

function approve(call: Invocation, reader: Reader): void {
  const amount = reader.u64();
  const account = readAccount(call, call.address(0));
  requireOwner(call, account, call.address(2));
  writeAccount(call, call.address(0), { ...account, delegate: call.address(1), delegatedAmount: amount });
}

function revoke(call: Invocation): void {
  const account = readAccount(call, call.address(0));
  requireOwner(call, account, call.address(1));
  writeAccount(call, call.address(0), { ...account, delegate: undefined, delegatedAmount: 0n });
}

function mintTo(call: Invocation, amount: bigint, decimals: number | undefined): void {
  const [mintAddress, to, authority] = [call.address(0), call.address(1), call.address(2)];
  const target = readAccount(call, to);
  if (target.mint !== mintAddress) failCustom(tokenError.mintMismatch);
  const mint = readMint(call, mintAddress);
  if (decimals !== undefined && decimals !== mint.decimals) failCustom(tokenError.mintDecimalsMismatch);
  if (mint.authority === undefined) failCustom(tokenError.fixedSupply);
  if (mint.authority !== authority) failCustom(tokenError.ownerMismatch);
  call.requireSigner(authority);
  if (mint.supply + amount > maxAmount) failCustom(tokenError.overflow);
  writeAccount(call, to, { ...target, amount: target.amount + amount });
  writeMint(call, mintAddress, { ...mint, supply: mint.supply + amount });
}

function burn(call: Invocation, reader: Reader): void {
  const amount = reader.u64();
  const [from, mintAddress, authority] = [call.address(0), call.address(1), call.address(2)];
  const source = readAccount(call, from);
  if (source.amount < amount) failCustom(tokenError.insufficientFunds);
  if (source.mint !== mintAddress) failCustom(tokenError.mintMismatch);
  const mint = readMint(call, mintAddress);
  requireOwner(call, source, authority);
  writeAccount(call, from, { ...source, amount: source.amount - amount });
  writeMint(call, mintAddress, { ...mint, supply: mint.supply - amount });
}

function closeAccount(call: Invocation): void {
  const [address, beneficiary, authority] = [call.address(0), call.address(1), call.address(2)];
  const account = readAccount(call, address);
  if (address === beneficiary) fail('InvalidAccountData');
  if (account.amount > 0n) failCustom(tokenError.nonNativeHasBalance);
  if ((account.closeAuthority ?? account.owner) !== authority) failCustom(tokenError.ownerMismatch);
  call.requireSigner(authority);
  call.close(address, beneficiary);
}

function requireOwner(call: Invocation, account: TokenAccount, authority: SolanaAddress): void {
  if (account.owner !== authority) failCustom(tokenError.ownerMismatch);
  call.requireSigner(authority);
}
