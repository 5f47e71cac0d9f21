/** Methods that read accounts. */
import { tryDecodeBase58 } from '../../../formats/base58.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { tokenProgram } from '../../../formats/solana/programs.ts';
import { decodeMint, decodeTokenAccount, mintSize, tokenAccountSize } from '../../../formats/solana/token.ts';
import type { Account } from '../accounts.ts';
import { decimalsOf } from '../meta.ts';
import { accountJson, accountView, tokenAmount } from './accounts-json.ts';
import { invalidParams } from './errors.ts';
import { checkContext, inContext, type Methods, type RpcContext, withContext } from './method.ts';
import {
  addressList,
  addressParam,
  booleanOption,
  type Options,
  optionsParam,
  toAddress,
  toInteger,
  toOptions,
} from './params.ts';

const maxAccounts = 100;
const maxFilters = 4;

export const accountMethods: Methods = {
  getBalance: inContext(1, ({ ledger }, params) => ledger.accounts.get(addressParam(params, 0)).lamports),
  getAccountInfo: inContext(1, ({ ledger: { accounts } }, params, options) =>
    accountJson(accounts.get(addressParam(params, 0)), accountView(options), accounts),
  ),
  getMultipleAccounts: inContext(1, ({ ledger: { accounts } }, params, options) => {
    const view = accountView(options, 'base64');
    return addressList(params[0], maxAccounts).map((address) =>
      accountJson(accounts.get(address), view, accounts),
    );
  }),
  getProgramAccounts: (context, params) => {
    const options = optionsParam(params, 1);
    checkContext(context, options);
    const view = accountView(options);
    const filters = readFilters(options);
    const { accounts } = context.ledger;
    const found: object[] = [];
    for (const [pubkey, account] of accounts.ownedBy(addressParam(params, 0))) {
      if (filters.every((filter) => filter(account))) {
        found.push({ pubkey, account: accountJson(account, view, accounts) });
      }
    }
    return booleanOption(options, 'withContext') ? withContext(context, found) : found;
  },
  getTokenAccountBalance: (context, params) => {
    const account = tokenAccount(context, addressParam(params, 0));
    return withContext(
      context,
      tokenAmount(account.amount, decimalsOf(context.ledger.accounts, account.mint)),
    );
  },
  getTokenSupply: (context, params) => {
    const { data, owner } = context.ledger.accounts.get(addressParam(params, 0));
    if (owner !== tokenProgram || data.length !== mintSize) {
      throw invalidParams('Invalid param: not a Token mint');
    }
    const mint = decodeMint(data);
    return withContext(context, tokenAmount(mint.supply, mint.decimals));
  },
  getTokenAccountsByOwner: (context, params) => {
    const owner = addressParam(params, 0);
    const choice = optionsParam(params, 1);
    const view = accountView(optionsParam(params, 2));
    const mint = choice.mint === undefined ? undefined : toAddress(choice.mint);
    if (mint === undefined && toAddress(choice.programId) !== tokenProgram) {
      throw invalidParams('Invalid param: unrecognized Token program id');
    }
    const { accounts } = context.ledger;
    const found: object[] = [];
    for (const [pubkey, account] of accounts.ownedBy(tokenProgram)) {
      if (account.data.length !== tokenAccountSize) continue;
      const token = decodeTokenAccount(account.data);
      if (token.owner !== owner || (mint !== undefined && token.mint !== mint)) continue;
      found.push({ pubkey, account: accountJson(account, view, accounts) });
    }
    return withContext(context, found);
  },
};

function tokenAccount(context: RpcContext, address: SolanaAddress) {
  const { data, owner } = context.ledger.accounts.get(address);
  if (owner !== tokenProgram || data.length !== tokenAccountSize) {
    throw invalidParams('Invalid param: not a Token account');
  }
  return decodeTokenAccount(data);
}

type Filter = (account: Account) => boolean;

function readFilters(options: Options): Filter[] {
  const { filters } = options;
  if (filters === undefined || filters === null) return [];
  if (!Array.isArray(filters)) throw invalidParams('filters must be a list');
  if (filters.length > maxFilters) throw invalidParams(`Too many filters provided; max ${maxFilters}`);
  return filters.map((entry: unknown) => readFilter(toOptions(entry)));
}

function readFilter(filter: Options): Filter {
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
