/** Methods that read accounts, and accounts as JSON in the encodings clients ask for. */
import { zstdCompressSync } from 'node:zlib';
import { encodeBase58, tryDecodeBase58 } from '../../../formats/base58.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { tokenProgram } from '../../../formats/solana/programs.ts';
import {
  decodeMint,
  decodeTokenAccount,
  type Mint,
  mintSize,
  type TokenAccount,
  tokenAccountSize,
} from '../../../formats/solana/token.ts';
import type { Account, AccountReader, AccountStore } from '../accounts.ts';
import { decimalsOf } from '../meta.ts';
import {
  addressList,
  booleanOption,
  checkContext,
  choiceOption,
  inContext,
  invalidParams,
  type Method,
  type Methods,
  type Options,
  RpcError,
  rpcCode,
  toAddress,
  toInteger,
  toOptions,
  withContext,
} from './method.ts';
import { spellAccount } from './parsed-accounts.ts';
import { tokenAmount } from './token-amount.ts';

type AccountEncoding = 'base58' | 'base64' | 'base64+zstd' | 'jsonParsed';

/** base58 costs the square of the length, so nodes refuse it for larger data. */
const maxBase58 = 128;

interface AccountView {
  readonly encoding: AccountEncoding;
  readonly slice: { readonly offset: number; readonly length: number } | undefined;
}

export function accountView(options: Options, fallback: AccountEncoding = 'base58'): AccountView {
  const encoding = choiceOption(options, 'encoding', fallback, [
    'base58',
    'base64',
    'base64+zstd',
    'jsonParsed',
  ]);
  if (options.dataSlice === undefined || options.dataSlice === null) return { encoding, slice: undefined };
  const slice = toOptions(options.dataSlice);
  if (encoding === 'jsonParsed') throw invalidParams('dataSlice cannot be used with jsonParsed');
  return { encoding, slice: { offset: toInteger(slice.offset), length: toInteger(slice.length) } };
}

/** Null for an address that was never used. */
export function accountJson(
  address: SolanaAddress,
  account: Account,
  view: AccountView,
  accounts: AccountReader,
): object | null {
  if (account.lamports === 0n) return null;
  return {
    lamports: account.lamports,
    owner: account.owner,
    data: dataJson(address, account, view, accounts),
    executable: account.executable,
    rentEpoch: 18446744073709551615n,
    space: account.data.length,
  };
}

function dataJson(
  address: SolanaAddress,
  account: Account,
  view: AccountView,
  accounts: AccountReader,
): unknown {
  const { slice } = view;
  const data = slice ? account.data.subarray(slice.offset, slice.offset + slice.length) : account.data;
  switch (view.encoding) {
    case 'base64':
      return [data.toString('base64'), 'base64'];
    case 'base64+zstd':
      return [zstdCompressSync(data).toString('base64'), 'base64+zstd'];
    case 'jsonParsed':
      return spellAccount(address, account, accounts) ?? [data.toString('base64'), 'base64'];
    case 'base58':
      if (data.length > maxBase58) {
        throw new RpcError(
          rpcCode.invalidRequest,
          'Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.',
        );
      }
      return [encodeBase58(data), 'base58'];
  }
}

const maxAccounts = 100;
const maxFilters = 4;
const largestShown = 20;

export const accountMethods: Methods = {
  getBalance: inContext(1, ({ ledger }, params) => ledger.accounts.get(toAddress(params[0])).lamports),
  getAccountInfo: inContext(1, ({ ledger: { accounts } }, params, options) => {
    const address = toAddress(params[0]);
    return accountJson(address, accounts.get(address), accountView(options), accounts);
  }),
  getMultipleAccounts: inContext(1, ({ ledger: { accounts } }, params, options) => {
    const view = accountView(options, 'base64');
    return addressList(params[0], maxAccounts).map((address) =>
      accountJson(address, accounts.get(address), view, accounts),
    );
  }),
  getProgramAccounts: (context, params) => {
    const options = toOptions(params[1]);
    checkContext(context, options);
    const view = accountView(options);
    const filters = readFilters(options);
    const { accounts } = context.ledger;
    const found = listed(accounts, toAddress(params[0]), view, (account) =>
      filters.every((filter) => filter(account)),
    );
    return booleanOption(options, 'withContext') ? withContext(context, found) : found;
  },
  getTokenAccountBalance: (context, params) => {
    const { accounts } = context.ledger;
    const { data, owner } = accounts.get(toAddress(params[0]));
    if (owner !== tokenProgram || data.length !== tokenAccountSize) {
      throw invalidParams('Invalid param: not a Token account');
    }
    const { amount, mint } = decodeTokenAccount(data);
    return withContext(context, tokenAmount(amount, decimalsOf(accounts, mint)));
  },
  getTokenSupply: (context, params) => {
    const mint = mintAt(context.ledger.accounts, toAddress(params[0]));
    return withContext(context, tokenAmount(mint.supply, mint.decimals));
  },
  getTokenLargestAccounts: (context, params) => {
    const { accounts } = context.ledger;
    const address = toAddress(params[0]);
    const { decimals } = mintAt(accounts, address);
    const holders: { address: SolanaAddress; amount: bigint }[] = [];
    for (const [holder, { data }] of accounts.ownedBy(tokenProgram)) {
      if (data.length !== tokenAccountSize) continue;
      const { mint, amount } = decodeTokenAccount(data);
      if (mint === address) holders.push({ address: holder, amount });
    }
    holders.sort((a, b) => (a.amount < b.amount ? 1 : a.amount > b.amount ? -1 : 0));
    const largest = holders.slice(0, largestShown);
    return withContext(
      context,
      largest.map((holder) => ({ address: holder.address, ...tokenAmount(holder.amount, decimals) })),
    );
  },
  getTokenAccountsByOwner: tokenAccountsBy(({ owner }, wanted) => owner === wanted),
  getTokenAccountsByDelegate: tokenAccountsBy(({ delegate }, wanted) => delegate === wanted),
};

/** Token accounts of one mint, or of the whole token program, that belong to an address in some way. */
function tokenAccountsBy(belongs: (account: TokenAccount, address: SolanaAddress) => boolean): Method {
  return (context, params) => {
    const wanted = toAddress(params[0]);
    const choice = toOptions(params[1]);
    const options = toOptions(params[2]);
    checkContext(context, options);
    const view = accountView(options);
    const mint = choice.mint == null ? undefined : toAddress(choice.mint);
    if (mint === undefined && toAddress(choice.programId) !== tokenProgram) {
      throw invalidParams('Invalid param: unrecognized Token program id');
    }
    const { accounts } = context.ledger;
    if (mint !== undefined) mintAt(accounts, mint, 'could not find mint');
    const found = listed(accounts, tokenProgram, view, ({ data }) => {
      if (data.length !== tokenAccountSize) return false;
      const token = decodeTokenAccount(data);
      return belongs(token, wanted) && (mint === undefined || token.mint === mint);
    });
    return withContext(context, found);
  };
}

function mintAt(accounts: AccountReader, address: SolanaAddress, otherwise = 'not a Token mint'): Mint {
  const { data, owner } = accounts.get(address);
  if (owner !== tokenProgram || data.length !== mintSize) throw invalidParams(`Invalid param: ${otherwise}`);
  return decodeMint(data);
}

export type AccountFilter = (account: Account) => boolean;

function listed(
  accounts: AccountStore,
  program: SolanaAddress,
  view: AccountView,
  filter: AccountFilter,
): object[] {
  return [...accounts.ownedBy(program)]
    .filter(([, account]) => filter(account))
    .map(([pubkey, account]) => ({ pubkey, account: accountJson(pubkey, account, view, accounts) }));
}

export function readFilters(options: Options): AccountFilter[] {
  const { filters } = options;
  if (filters === undefined || filters === null) return [];
  if (!Array.isArray(filters)) throw invalidParams('filters must be a list');
  if (filters.length > maxFilters) throw invalidParams(`Too many filters provided; max ${maxFilters}`);
  return filters.map((entry: unknown) => readFilter(toOptions(entry)));
}

function readFilter(filter: Options): AccountFilter {
  if (filter.dataSize !== undefined) {
    const size = toInteger(filter.dataSize);
    return (account) => account.data.length === size;
  }
  const memcmp = toOptions(filter.memcmp);
  const offset = toInteger(memcmp.offset);
  const bytes = filterBytes(memcmp);
  return (account) => account.data.subarray(offset, offset + bytes.length).equals(bytes);
}

function filterBytes(memcmp: Options): Buffer {
  const { bytes, encoding = 'base58' } = memcmp;
  if (typeof bytes !== 'string') throw invalidParams('memcmp needs bytes');
  const decoded = encoding === 'base64' ? Buffer.from(bytes, 'base64') : tryDecodeBase58(bytes);
  if (decoded === undefined || (encoding !== 'base58' && encoding !== 'base64')) {
    throw invalidParams('memcmp bytes cannot be decoded');
  }
  if (decoded.length > maxFilterBytes) throw invalidParams('memcmp bytes are too long; max 128');
  return decoded;
}

const maxFilterBytes = 128;
