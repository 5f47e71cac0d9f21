/** Accounts as JSON, in the encodings clients ask for. */
import { zstdCompressSync } from 'node:zlib';
import { encodeBase58 } from '../../../formats/base58.ts';
import { tokenProgram } from '../../../formats/solana/programs.ts';
import { decodeMint, decodeTokenAccount, mintSize, tokenAccountSize } from '../../../formats/solana/token.ts';
import type { Account, AccountReader } from '../accounts.ts';
import { decimalsOf } from '../meta.ts';
import { invalidParams, RpcError, rpcCode } from './errors.ts';
import { choiceOption, type Options, toInteger, toOptions } from './params.ts';

export type AccountEncoding = 'base58' | 'base64' | 'base64+zstd' | 'jsonParsed';

/** base58 costs the square of the length, so nodes refuse it for larger data. */
const maxBase58 = 128;

export interface AccountView {
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
export function accountJson(account: Account, view: AccountView, accounts: AccountReader): object | null {
  if (account.lamports === 0n) return null;
  return {
    lamports: account.lamports,
    owner: account.owner,
    data: dataJson(account, view, accounts),
    executable: account.executable,
    rentEpoch: 18446744073709551615n,
    space: account.data.length,
  };
}

function dataJson(account: Account, view: AccountView, accounts: AccountReader): unknown {
  const { slice } = view;
  const data = slice ? account.data.subarray(slice.offset, slice.offset + slice.length) : account.data;
  switch (view.encoding) {
    case 'base64':
      return [data.toString('base64'), 'base64'];
    case 'base64+zstd':
      return [zstdCompressSync(data).toString('base64'), 'base64+zstd'];
    case 'jsonParsed':
      return parsedToken(account, accounts) ?? [data.toString('base64'), 'base64'];
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

function parsedToken(account: Account, accounts: AccountReader): object | undefined {
  if (account.owner !== tokenProgram) return undefined;
  if (account.data.length === mintSize) {
    const mint = decodeMint(account.data);
    const info = {
      mintAuthority: mint.authority ?? null,
      supply: mint.supply.toString(),
      decimals: mint.decimals,
      isInitialized: mint.initialized,
      freezeAuthority: mint.freezeAuthority ?? null,
    };
    return { program: 'spl-token', parsed: { info, type: 'mint' }, space: mintSize };
  }
  if (account.data.length !== tokenAccountSize) return undefined;
  const token = decodeTokenAccount(account.data);
  const info = {
    isNative: false,
    mint: token.mint,
    owner: token.owner,
    state: token.state,
    tokenAmount: tokenAmount(token.amount, decimalsOf(accounts, token.mint)),
  };
  return { program: 'spl-token', parsed: { info, type: 'account' }, space: tokenAccountSize };
}

export function tokenAmount(amount: bigint, decimals: number): object {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const part = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const text = part === '' ? whole : `${whole}.${part}`;
  return { amount: amount.toString(), decimals, uiAmount: Number(text), uiAmountString: text };
}
