/** Instructions spelled out as nodes do for `jsonParsed`; what is not known here stays as it is. */
import { FormatError } from '../../../formats/format-error.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { Reader } from '../../../formats/solana/bytes.ts';
import { lookupTableInstruction } from '../../../formats/solana/lookup-table.ts';
import {
  associatedTokenProgram,
  lookupTableProgram,
  memoProgram,
  memoProgramV1,
  systemProgram,
  tokenProgram,
} from '../../../formats/solana/programs.ts';
import { systemInstruction } from '../../../formats/solana/system.ts';
import { tokenInstruction } from '../../../formats/solana/token.ts';
import { tokenAmount } from './token-amount.ts';

type Accounts = readonly SolanaAddress[];

interface Spelled {
  readonly type: string;
  readonly info: object;
}

/** Undefined for what no node spells out either, and for data that cannot be read. */
export function spellInstruction(
  programId: SolanaAddress,
  accounts: Accounts,
  data: Buffer,
): object | undefined {
  if (programId === memoProgram || programId === memoProgramV1) {
    return { program: 'spl-memo', parsed: data.toString('utf8') };
  }
  const known = spellers.get(programId);
  if (known === undefined) return undefined;
  try {
    const spelled = known.spell(accounts, new Reader(data));
    return spelled && { program: known.name, parsed: { info: spelled.info, type: spelled.type } };
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

const spellers = new Map<
  SolanaAddress,
  { readonly name: string; readonly spell: (accounts: Accounts, reader: Reader) => Spelled | undefined }
>([
  [systemProgram, { name: 'system', spell: spellSystem }],
  [tokenProgram, { name: 'spl-token', spell: spellToken }],
  [associatedTokenProgram, { name: 'spl-associated-token-account', spell: spellAssociated }],
  [lookupTableProgram, { name: 'address-lookup-table', spell: spellLookupTable }],
]);

const text = (reader: Reader): string => reader.take(Number(reader.u64())).toString('utf8');

function spellSystem(accounts: Accounts, reader: Reader): Spelled | undefined {
  const [first, second, third, fourth, fifth] = accounts;
  switch (reader.u32()) {
    case systemInstruction.createAccount: {
      const info = { source: first, newAccount: second, lamports: reader.u64(), space: reader.u64() };
      return { type: 'createAccount', info: { ...info, owner: reader.address() } };
    }
    case systemInstruction.assign:
      return { type: 'assign', info: { account: first, owner: reader.address() } };
    case systemInstruction.transfer:
      return { type: 'transfer', info: { source: first, destination: second, lamports: reader.u64() } };
    case systemInstruction.createAccountWithSeed: {
      const info = { source: first, newAccount: second, base: reader.address(), seed: text(reader) };
      const rest = { lamports: reader.u64(), space: reader.u64(), owner: reader.address() };
      return { type: 'createAccountWithSeed', info: { ...info, ...rest } };
    }
    case systemInstruction.advanceNonce:
      return {
        type: 'advanceNonce',
        info: { nonceAccount: first, recentBlockhashesSysvar: second, nonceAuthority: third },
      };
    case systemInstruction.withdrawNonce: {
      const sysvars = { recentBlockhashesSysvar: third, rentSysvar: fourth };
      const info = { nonceAccount: first, destination: second, ...sysvars, nonceAuthority: fifth };
      return { type: 'withdrawFromNonce', info: { ...info, lamports: reader.u64() } };
    }
    case systemInstruction.initializeNonce: {
      const info = { nonceAccount: first, recentBlockhashesSysvar: second, rentSysvar: third };
      return { type: 'initializeNonce', info: { ...info, nonceAuthority: reader.address() } };
    }
    case systemInstruction.authorizeNonce: {
      const info = { nonceAccount: first, nonceAuthority: second, newAuthorized: reader.address() };
      return { type: 'authorizeNonce', info };
    }
    case systemInstruction.allocate:
      return { type: 'allocate', info: { account: first, space: reader.u64() } };
    case systemInstruction.allocateWithSeed: {
      const info = { account: first, base: reader.address(), seed: text(reader), space: reader.u64() };
      return { type: 'allocateWithSeed', info: { ...info, owner: reader.address() } };
    }
    case systemInstruction.assignWithSeed: {
      const info = { account: first, base: reader.address(), seed: text(reader), owner: reader.address() };
      return { type: 'assignWithSeed', info };
    }
    case systemInstruction.transferWithSeed: {
      const info = { source: first, sourceBase: second, destination: third, lamports: reader.u64() };
      const rest = { sourceSeed: text(reader), sourceOwner: reader.address() };
      return { type: 'transferWithSeed', info: { ...info, ...rest } };
    }
    case systemInstruction.upgradeNonce:
      return { type: 'upgradeNonce', info: { nonceAccount: first } };
    default:
      return undefined;
  }
}

const authorityTypes = ['mintTokens', 'freezeAccount', 'accountOwner', 'closeAccount'];

/** Who signs, at a place: one wallet, or a multisignature and its signers behind it. */
function signerOf(accounts: Accounts, place: number, name: string): object {
  if (accounts.length <= place + 1) return { [name]: accounts[place] };
  const multisig = `multisig${name[0]!.toUpperCase()}${name.slice(1)}`;
  return { [multisig]: accounts[place], signers: accounts.slice(place + 1) };
}

const optional = (reader: Reader): SolanaAddress | undefined =>
  reader.u8() === 1 ? reader.address() : undefined;

const amountOf = (reader: Reader) => ({ amount: reader.u64().toString() });
const checkedAmountOf = (reader: Reader) => ({ tokenAmount: tokenAmount(reader.u64(), reader.u8()) });

const tokenNames = new Map<number, string>(
  Object.entries(tokenInstruction).map(([name, number]) => [number, name]),
);

function spellToken(accounts: Accounts, reader: Reader): Spelled | undefined {
  const number = reader.u8();
  const type = tokenNames.get(number);
  const info = type === undefined ? undefined : tokenInfo(number, accounts, reader);
  return type === undefined || info === undefined ? undefined : { type, info };
}

function tokenInfo(number: number, accounts: Accounts, reader: Reader): object | undefined {
  const [first, second, third, fourth] = accounts;
  switch (number) {
    case tokenInstruction.initializeMint:
    case tokenInstruction.initializeMint2: {
      const info = { mint: first, decimals: reader.u8(), mintAuthority: reader.address() };
      const freezeAuthority = optional(reader);
      const rent = number === tokenInstruction.initializeMint && { rentSysvar: second };
      return { ...info, ...rent, ...(freezeAuthority && { freezeAuthority }) };
    }
    case tokenInstruction.initializeAccount:
      return { account: first, mint: second, owner: third, rentSysvar: fourth };
    case tokenInstruction.initializeAccount2:
      return { account: first, mint: second, rentSysvar: third, owner: reader.address() };
    case tokenInstruction.initializeAccount3:
      return { account: first, mint: second, owner: reader.address() };
    case tokenInstruction.initializeMultisig:
      return { multisig: first, rentSysvar: second, signers: accounts.slice(2), m: reader.u8() };
    case tokenInstruction.initializeMultisig2:
      return { multisig: first, signers: accounts.slice(1), m: reader.u8() };
    case tokenInstruction.transfer: {
      const info = { source: first, destination: second, ...amountOf(reader) };
      return { ...info, ...signerOf(accounts, 2, 'authority') };
    }
    case tokenInstruction.approve: {
      const info = { source: first, delegate: second, ...amountOf(reader) };
      return { ...info, ...signerOf(accounts, 2, 'owner') };
    }
    case tokenInstruction.revoke:
      return { source: first, ...signerOf(accounts, 1, 'owner') };
    case tokenInstruction.setAuthority: {
      const kind = reader.u8();
      const [authorityType, newAuthority] = [authorityTypes[kind], optional(reader) ?? null];
      const info = { [kind < 2 ? 'mint' : 'account']: first, authorityType, newAuthority };
      return { ...info, ...signerOf(accounts, 1, 'authority') };
    }
    case tokenInstruction.mintTo: {
      const info = { mint: first, account: second, ...amountOf(reader) };
      return { ...info, ...signerOf(accounts, 2, 'mintAuthority') };
    }
    case tokenInstruction.burn: {
      const info = { account: first, mint: second, ...amountOf(reader) };
      return { ...info, ...signerOf(accounts, 2, 'authority') };
    }
    case tokenInstruction.closeAccount:
      return { account: first, destination: second, ...signerOf(accounts, 2, 'owner') };
    case tokenInstruction.freezeAccount:
    case tokenInstruction.thawAccount:
      return { account: first, mint: second, ...signerOf(accounts, 2, 'freezeAuthority') };
    case tokenInstruction.transferChecked: {
      const info = { source: first, mint: second, destination: third, ...checkedAmountOf(reader) };
      return { ...info, ...signerOf(accounts, 3, 'authority') };
    }
    case tokenInstruction.approveChecked: {
      const info = { source: first, mint: second, delegate: third, ...checkedAmountOf(reader) };
      return { ...info, ...signerOf(accounts, 3, 'owner') };
    }
    case tokenInstruction.mintToChecked: {
      const info = { mint: first, account: second, ...checkedAmountOf(reader) };
      return { ...info, ...signerOf(accounts, 2, 'mintAuthority') };
    }
    case tokenInstruction.burnChecked: {
      const info = { account: first, mint: second, ...checkedAmountOf(reader) };
      return { ...info, ...signerOf(accounts, 2, 'authority') };
    }
    case tokenInstruction.syncNative:
    case tokenInstruction.initializeImmutableOwner:
      return { account: first };
    case tokenInstruction.getAccountDataSize:
      return { mint: first };
    case tokenInstruction.amountToUiAmount:
      return { mint: first, ...amountOf(reader) };
    case tokenInstruction.uiAmountToAmount:
      return { mint: first, uiAmount: reader.take(reader.remaining).toString('utf8') };
    default:
      return undefined;
  }
}

function spellAssociated(accounts: Accounts, reader: Reader): Spelled | undefined {
  const kind = reader.remaining === 0 ? 0 : reader.u8();
  if (kind === 2) {
    const [nestedSource, nestedMint, destination, nestedOwner, ownerMint, wallet, program] = accounts;
    const info = { nestedSource, nestedMint, destination, nestedOwner, ownerMint, wallet };
    return { type: 'recoverNested', info: { ...info, tokenProgram: program } };
  }
  if (kind > 1) return undefined;
  const [source, account, wallet, mint, system, program] = accounts;
  const info = { source, account, wallet, mint, systemProgram: system, tokenProgram: program };
  return { type: kind === 1 ? 'createIdempotent' : 'create', info };
}

function spellLookupTable(accounts: Accounts, reader: Reader): Spelled | undefined {
  const [lookupTableAccount, lookupTableAuthority, third, fourth] = accounts;
  const info = { lookupTableAccount, lookupTableAuthority };
  switch (reader.u32()) {
    case lookupTableInstruction.create: {
      const made = { ...info, payerAccount: third, systemProgram: fourth };
      return {
        type: 'createLookupTable',
        info: { ...made, recentSlot: reader.u64(), bumpSeed: reader.u8() },
      };
    }
    case lookupTableInstruction.freeze:
      return { type: 'freezeLookupTable', info };
    case lookupTableInstruction.extend: {
      const count = Number(reader.u64());
      if (count * 32 > reader.remaining) return undefined;
      const newAddresses = Array.from({ length: count }, () => reader.address());
      const payer = third !== undefined && { payerAccount: third, systemProgram: fourth };
      return { type: 'extendLookupTable', info: { ...info, newAddresses, ...payer } };
    }
    case lookupTableInstruction.deactivate:
      return { type: 'deactivateLookupTable', info };
    case lookupTableInstruction.close:
      return { type: 'closeLookupTable', info: { ...info, recipient: third } };
    default:
      return undefined;
  }
}
