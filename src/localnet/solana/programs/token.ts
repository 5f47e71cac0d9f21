/**
 * SPL Token: mints, token accounts, wrapped SOL, multisignature owners. Checks come in the order of the public program,
 * so that what breaks two rules fails by the same one.
 */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { Reader, Writer } from '../../../formats/solana/bytes.ts';
import {
  incinerator,
  nativeMint,
  rentExemptMinimum,
  systemProgram,
} from '../../../formats/solana/programs.ts';
import {
  decodeMint,
  decodeMultisig,
  decodeTokenAccount,
  encodeMint,
  encodeMultisig,
  encodeTokenAccount,
  type Mint,
  maxMultisigSigners,
  mintSize,
  multisigSize,
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
  invalidNumberOfProvidedSigners: 7,
  invalidNumberOfRequiredSigners: 8,
  nativeNotSupported: 10,
  nonNativeHasBalance: 11,
  invalidInstruction: 12,
  invalidState: 13,
  overflow: 14,
  authorityTypeNotSupported: 15,
  mintCannotFreeze: 16,
  accountFrozen: 17,
  mintDecimalsMismatch: 18,
  nonNativeNotSupported: 19,
} as const;

const authorityType = { mintTokens: 0, freezeAccount: 1, accountOwner: 2, closeAccount: 3 } as const;
const maxAmount = 2n ** 64n - 1n;

type Handler = (call: Invocation, reader: Reader) => void;

const handlers: Readonly<Record<keyof typeof tokenInstruction, Handler>> = {
  initializeMint,
  initializeMint2: initializeMint,
  initializeAccount: (call) => initializeAccount(call, call.address(2)),
  initializeAccount2: (call, reader) => initializeAccount(call, reader.address()),
  initializeAccount3: (call, reader) => initializeAccount(call, reader.address()),
  // The first one is also given the rent sysvar.
  initializeMultisig: (call, reader) => initializeMultisig(call, reader.u8(), 2),
  initializeMultisig2: (call, reader) => initializeMultisig(call, reader.u8(), 1),
  initializeImmutableOwner: (call) => {
    const account = parsed(
      () => decodeTokenAccount(call.account(call.address(0)).data),
      'InvalidAccountData',
    );
    if (account.state !== 'uninitialized') failCustom(tokenError.alreadyInUse);
    call.log('Please upgrade to SPL Token 2022 for immutable owner support');
  },
  transfer: (call, reader) => transfer(call, [0, 1, 2], reader.u64()),
  transferChecked: (call, reader) =>
    transfer(call, [0, 2, 3], reader.u64(), { decimals: reader.u8(), mint: call.address(1) }),
  approve: (call, reader) => approve(call, [0, 1, 2], reader.u64()),
  approveChecked: (call, reader) =>
    approve(call, [0, 2, 3], reader.u64(), { decimals: reader.u8(), mint: call.address(1) }),
  revoke,
  setAuthority,
  mintTo: (call, reader) => mintTo(call, reader.u64(), undefined),
  mintToChecked: (call, reader) => mintTo(call, reader.u64(), reader.u8()),
  burn: (call, reader) => burn(call, reader.u64(), undefined),
  burnChecked: (call, reader) => burn(call, reader.u64(), reader.u8()),
  closeAccount,
  freezeAccount: (call) => toggleFreeze(call, true),
  thawAccount: (call) => toggleFreeze(call, false),
  syncNative,
  getAccountDataSize: (call) => {
    mintForView(call);
    call.returns(new Writer().u64(BigInt(tokenAccountSize)).finish());
  },
  amountToUiAmount: (call, reader) => {
    const amount = reader.u64();
    call.returns(Buffer.from(uiAmount(amount, mintForView(call).decimals)));
  },
  uiAmountToAmount: (call, reader) => {
    const text = reader.take(reader.remaining).toString('utf8');
    call.returns(new Writer().u64(fromUiAmount(text, mintForView(call).decimals)).finish());
  },
};

const byNumber = new Map<number, { readonly title: string; readonly handler: Handler }>(
  Object.entries(tokenInstruction).map(([name, number]) => {
    const known = Object.entries(handlers).find(([other]) => other === name);
    if (known === undefined) throw new Error(`no handler for ${name}`);
    return [number, { title: `${name[0]!.toUpperCase()}${name.slice(1)}`, handler: known[1] }];
  }),
);

export const token: Program = {
  units: () => 4_645,
  run(call) {
    const known = byNumber.get(call.data[0] ?? -1);
    if (known === undefined) failCustom(tokenError.invalidInstruction);
    call.log(`Instruction: ${known.title}`);
    parsed(
      () => known.handler(call, new Reader(call.data.subarray(1))),
      () => failCustom(tokenError.invalidInstruction),
    );
  },
};

function readAccount(call: Invocation, address: SolanaAddress): TokenAccount {
  const account = call.account(address);
  if (account.owner !== call.programId) fail('IncorrectProgramId');
  const value = parsed(() => decodeTokenAccount(account.data), 'InvalidAccountData');
  if (value.state === 'uninitialized') fail('UninitializedAccount');
  return value;
}

function readMint(call: Invocation, address: SolanaAddress): Mint {
  const account = call.account(address);
  if (account.owner !== call.programId) fail('IncorrectProgramId');
  const mint = parsed(() => decodeMint(account.data), 'InvalidAccountData');
  if (!mint.initialized) fail('UninitializedAccount');
  return mint;
}

/** For instructions that only answer something. */
function mintForView(call: Invocation): Mint {
  const account = call.account(call.address(0));
  if (account.owner !== call.programId) fail('IncorrectProgramId');
  if (account.data.length !== mintSize) failCustom(tokenError.invalidMint);
  const mint = parsed(() => decodeMint(account.data), 'InvalidAccountData');
  if (!mint.initialized) failCustom(tokenError.invalidMint);
  return mint;
}

/** Where the optional addresses are: their marks, each four bytes before its address. */
const accountOptions = [72, 129];
const mintOptions = [0, 46];

const writeAccount = (call: Invocation, address: SolanaAddress, account: TokenAccount): void =>
  write(call, address, encodeTokenAccount(account), accountOptions);

const writeMint = (call: Invocation, address: SolanaAddress, mint: Mint): void =>
  write(call, address, encodeMint(mint), mintOptions);

/** The public program takes an address away by its mark alone: the bytes behind the mark stay as they were. */
function write(call: Invocation, address: SolanaAddress, data: Buffer, options: readonly number[]): void {
  const before = call.account(address).data;
  for (const mark of options) {
    if (data[mark] === 0) before.copy(data, mark + 4, mark + 4, mark + 36);
  }
  call.writeData(address, data);
}

/** An address behind a byte that says whether it is there. */
function optionalAddress(reader: Reader): SolanaAddress | undefined {
  const flag = reader.u8();
  if (flag > 1) failCustom(tokenError.invalidInstruction);
  return flag === 1 ? reader.address() : undefined;
}

function initializeMint(call: Invocation, reader: Reader): void {
  const address = call.address(0);
  const account = call.account(address);
  const decimals = reader.u8();
  const authority = reader.address();
  const freezeAuthority = optionalAddress(reader);
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
  const reserve = rentExemptMinimum(tokenAccountSize);
  if (account.lamports < reserve) failCustom(tokenError.notRentExempt);
  const made = newTokenAccount(mint, owner);
  if (mint === nativeMint) {
    writeAccount(call, address, { ...made, nativeReserve: reserve, amount: account.lamports - reserve });
    return;
  }
  const mintAccount = call.account(mint);
  if (mintAccount.owner !== call.programId) fail('IncorrectProgramId');
  if (mintAccount.data.length !== mintSize || !decodeMint(mintAccount.data).initialized) {
    failCustom(tokenError.invalidMint);
  }
  writeAccount(call, address, made);
}

export function newTokenAccount(mint: SolanaAddress, owner: SolanaAddress): TokenAccount {
  return {
    mint,
    owner,
    amount: 0n,
    delegate: undefined,
    state: 'initialized',
    nativeReserve: undefined,
    delegatedAmount: 0n,
    closeAuthority: undefined,
  };
}

function initializeMultisig(call: Invocation, required: number, firstSigner: number): void {
  const address = call.address(0);
  const account = call.account(address);
  const signers = call.accounts.slice(firstSigner).map((meta) => meta.address);
  const before = parsed(() => decodeMultisig(account.data), 'InvalidAccountData');
  if (before.initialized) failCustom(tokenError.alreadyInUse);
  if (account.lamports < rentExemptMinimum(multisigSize)) failCustom(tokenError.notRentExempt);
  if (signers.length < 1 || signers.length > maxMultisigSigners) {
    failCustom(tokenError.invalidNumberOfProvidedSigners);
  }
  if (required < 1 || required > maxMultisigSigners) failCustom(tokenError.invalidNumberOfRequiredSigners);
  const padding = new Array<SolanaAddress>(maxMultisigSigners - signers.length).fill(systemProgram);
  const count = signers.length;
  call.writeData(
    address,
    encodeMultisig({ required, count, initialized: true, signers: [...signers, ...padding] }),
  );
}

/** The authority at a place must be the expected one and sign: itself, or enough of its signers behind it. */
function requireAuthority(call: Invocation, expected: SolanaAddress, place: number): void {
  if (call.address(place) !== expected) failCustom(tokenError.ownerMismatch);
  const account = call.account(expected);
  if (account.owner !== call.programId || account.data.length !== multisigSize) {
    call.requireSigner(expected);
    return;
  }
  const multisig = parsed(() => decodeMultisig(account.data), 'InvalidAccountData');
  if (!multisig.initialized) fail('UninitializedAccount');
  const members = multisig.signers.slice(0, multisig.count);
  const given = new Set<number>();
  for (const { address } of call.accounts.slice(place + 1)) {
    // One who is listed twice counts for both, whichever of them is met first.
    const index = members.findIndex((member, at) => member === address && !given.has(at));
    if (index === -1) continue;
    if (!call.isSigner(address)) fail('MissingRequiredSignature');
    given.add(index);
  }
  if (given.size < multisig.required) fail('MissingRequiredSignature');
}

interface Checked {
  readonly decimals: number;
  readonly mint: SolanaAddress;
}

function requireMint(call: Invocation, account: TokenAccount, checked: Checked | undefined): void {
  if (checked === undefined) return;
  if (checked.mint !== account.mint) failCustom(tokenError.mintMismatch);
  if (readMint(call, account.mint).decimals !== checked.decimals) failCustom(tokenError.mintDecimalsMismatch);
}

function requireThawed(...accounts: readonly TokenAccount[]): void {
  if (accounts.some(({ state }) => state === 'frozen')) failCustom(tokenError.accountFrozen);
}

/** The account after its owner or its delegate spent an amount of it. */
function spent(call: Invocation, account: TokenAccount, amount: bigint, place: number): TokenAccount {
  const after = { ...account, amount: account.amount - amount };
  if (account.delegate === undefined || account.delegate !== call.address(place)) {
    requireAuthority(call, account.owner, place);
    return after;
  }
  requireAuthority(call, account.delegate, place);
  if (account.delegatedAmount < amount) failCustom(tokenError.insufficientFunds);
  const delegatedAmount = account.delegatedAmount - amount;
  return { ...after, delegatedAmount, delegate: delegatedAmount === 0n ? undefined : account.delegate };
}

/** `places` are of the source, the target and the authority; a checked transfer names the mint and its decimals. */
function transfer(
  call: Invocation,
  places: readonly [number, number, number],
  amount: bigint,
  checked?: Checked,
): void {
  const [from, to] = [call.address(places[0]), call.address(places[1])];
  call.address(places[2]);
  const source = readAccount(call, from);
  const target = readAccount(call, to);
  requireThawed(source, target);
  if (source.amount < amount) failCustom(tokenError.insufficientFunds);
  if (source.mint !== target.mint) failCustom(tokenError.mintMismatch);
  requireMint(call, source, checked);
  const after = spent(call, source, amount, places[2]);
  if (from === to) return;
  if (target.amount + amount > maxAmount) failCustom(tokenError.overflow);
  writeAccount(call, from, after);
  writeAccount(call, to, { ...target, amount: target.amount + amount });
  if (source.nativeReserve !== undefined) call.moveLamports(from, to, amount);
}

function approve(
  call: Invocation,
  places: readonly [number, number, number],
  amount: bigint,
  checked?: Checked,
): void {
  const account = readAccount(call, call.address(places[0]));
  const delegate = call.address(places[1]);
  requireThawed(account);
  requireMint(call, account, checked);
  requireAuthority(call, account.owner, places[2]);
  writeAccount(call, call.address(places[0]), { ...account, delegate, delegatedAmount: amount });
}

function revoke(call: Invocation): void {
  const account = readAccount(call, call.address(0));
  requireThawed(account);
  requireAuthority(call, account.owner, 1);
  writeAccount(call, call.address(0), { ...account, delegate: undefined, delegatedAmount: 0n });
}

function setAuthority(call: Invocation, reader: Reader): void {
  const kind = reader.u8();
  if (kind > authorityType.closeAccount) failCustom(tokenError.invalidInstruction);
  const next = optionalAddress(reader);
  const address = call.address(0);
  const { length } = call.account(address).data;
  if (length === tokenAccountSize) setAccountAuthority(call, address, kind, next);
  else if (length === mintSize) setMintAuthority(call, address, kind, next);
  else fail('InvalidArgument');
}

function setAccountAuthority(
  call: Invocation,
  address: SolanaAddress,
  kind: number,
  next: SolanaAddress | undefined,
): void {
  const account = readAccount(call, address);
  requireThawed(account);
  if (kind === authorityType.accountOwner) {
    requireAuthority(call, account.owner, 1);
    if (next === undefined) failCustom(tokenError.invalidInstruction);
    writeAccount(call, address, {
      ...account,
      owner: next,
      delegate: undefined,
      delegatedAmount: 0n,
      closeAuthority: account.nativeReserve === undefined ? account.closeAuthority : undefined,
    });
  } else if (kind === authorityType.closeAccount) {
    requireAuthority(call, account.closeAuthority ?? account.owner, 1);
    writeAccount(call, address, { ...account, closeAuthority: next });
  } else failCustom(tokenError.authorityTypeNotSupported);
}

function setMintAuthority(
  call: Invocation,
  address: SolanaAddress,
  kind: number,
  next: SolanaAddress | undefined,
): void {
  const mint = readMint(call, address);
  if (kind === authorityType.mintTokens) {
    requireAuthority(call, mint.authority ?? failCustom(tokenError.fixedSupply), 1);
    writeMint(call, address, { ...mint, authority: next });
  } else if (kind === authorityType.freezeAccount) {
    requireAuthority(call, mint.freezeAuthority ?? failCustom(tokenError.mintCannotFreeze), 1);
    writeMint(call, address, { ...mint, freezeAuthority: next });
  } else failCustom(tokenError.authorityTypeNotSupported);
}

function mintTo(call: Invocation, amount: bigint, decimals: number | undefined): void {
  const [mintAddress, to] = [call.address(0), call.address(1)];
  call.address(2);
  const target = readAccount(call, to);
  requireThawed(target);
  if (target.nativeReserve !== undefined) failCustom(tokenError.nativeNotSupported);
  if (target.mint !== mintAddress) failCustom(tokenError.mintMismatch);
  const mint = readMint(call, mintAddress);
  if (decimals !== undefined && decimals !== mint.decimals) failCustom(tokenError.mintDecimalsMismatch);
  requireAuthority(call, mint.authority ?? failCustom(tokenError.fixedSupply), 2);
  if (mint.supply + amount > maxAmount) failCustom(tokenError.overflow);
  writeAccount(call, to, { ...target, amount: target.amount + amount });
  writeMint(call, mintAddress, { ...mint, supply: mint.supply + amount });
}

/** What these two own anybody may burn: nobody else could ever. */
const belongsToNobody = ({ owner }: TokenAccount): boolean =>
  owner === systemProgram || owner === incinerator;

function burn(call: Invocation, amount: bigint, decimals: number | undefined): void {
  const [from, mintAddress] = [call.address(0), call.address(1)];
  call.address(2);
  const source = readAccount(call, from);
  const mint = readMint(call, mintAddress);
  requireThawed(source);
  if (source.nativeReserve !== undefined) failCustom(tokenError.nativeNotSupported);
  if (source.amount < amount) failCustom(tokenError.insufficientFunds);
  if (source.mint !== mintAddress) failCustom(tokenError.mintMismatch);
  if (decimals !== undefined && decimals !== mint.decimals) failCustom(tokenError.mintDecimalsMismatch);
  const after = belongsToNobody(source)
    ? { ...source, amount: source.amount - amount }
    : spent(call, source, amount, 2);
  writeAccount(call, from, after);
  writeMint(call, mintAddress, { ...mint, supply: mint.supply - amount });
}

function closeAccount(call: Invocation): void {
  const [address, beneficiary] = [call.address(0), call.address(1)];
  call.address(2);
  if (address === beneficiary) fail('InvalidAccountData');
  const account = readAccount(call, address);
  if (account.nativeReserve === undefined && account.amount > 0n) failCustom(tokenError.nonNativeHasBalance);
  if (!belongsToNobody(account)) requireAuthority(call, account.closeAuthority ?? account.owner, 2);
  else if (beneficiary !== incinerator) fail('InvalidAccountData');
  call.close(address, beneficiary);
}

function toggleFreeze(call: Invocation, isFreeze: boolean): void {
  const [address, mintAddress] = [call.address(0), call.address(1)];
  call.address(2);
  const account = readAccount(call, address);
  if ((account.state === 'frozen') === isFreeze) failCustom(tokenError.invalidState);
  if (account.nativeReserve !== undefined) failCustom(tokenError.nativeNotSupported);
  if (account.mint !== mintAddress) failCustom(tokenError.mintMismatch);
  const mint = readMint(call, mintAddress);
  requireAuthority(call, mint.freezeAuthority ?? failCustom(tokenError.mintCannotFreeze), 2);
  writeAccount(call, address, { ...account, state: isFreeze ? 'frozen' : 'initialized' });
}

/** Lamports that were sent to a wrapped account become tokens. */
function syncNative(call: Invocation): void {
  const address = call.address(0);
  const account = readAccount(call, address);
  if (account.nativeReserve === undefined) failCustom(tokenError.nonNativeNotSupported);
  const { lamports } = call.account(address);
  if (lamports < account.nativeReserve) failCustom(tokenError.overflow);
  const amount = lamports - account.nativeReserve;
  if (amount < account.amount) failCustom(tokenError.invalidState);
  writeAccount(call, address, { ...account, amount });
}

/** Without needless zeros: 1500 at three decimals is "1.5". */
export function uiAmount(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const part = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return part === '' ? whole : `${whole}.${part}`;
}

function fromUiAmount(text: string, decimals: number): bigint {
  const match = /^(\d*)(?:\.(\d*))?$/.exec(text);
  if (match === null || text.length > 64) fail('InvalidArgument');
  const [whole = '', part = ''] = [match[1], match[2]?.replace(/0+$/, '')];
  if ((whole === '' && part === '') || part.length > decimals) fail('InvalidArgument');
  const amount = BigInt(`${whole}${part.padEnd(decimals, '0')}`);
  if (amount > maxAmount) fail('InvalidArgument');
  return amount;
}
