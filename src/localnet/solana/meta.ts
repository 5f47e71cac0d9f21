/** What is remembered of an executed transaction beside its bytes: enough to answer `getTransaction` in full. */

import { encodeBase58 } from '../../formats/base58.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import type { LoadedAddresses, Message } from '../../formats/solana/message.ts';
import { memoProgram, memoProgramV1, tokenProgram } from '../../formats/solana/programs.ts';
import { decodeMint, decodeTokenAccount, mintSize, tokenAccountSize } from '../../formats/solana/token.ts';
import type { AccountReader } from './accounts.ts';
import type { TransactionError } from './runtime/errors.ts';
import type { Execution } from './runtime/execute.ts';

export interface TokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner: string;
  readonly amount: string;
  readonly decimals: number;
}

export interface InnerInstructionMeta {
  readonly outer: number;
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  /** base58 */
  readonly data: string;
  readonly stackHeight: number;
}

export interface TransactionMeta {
  readonly err: TransactionError | null;
  /** Lamports as decimal text. */
  readonly fee: string;
  readonly pre: readonly string[];
  readonly post: readonly string[];
  readonly preTokens: readonly TokenBalance[];
  readonly postTokens: readonly TokenBalance[];
  readonly logs: readonly string[];
  readonly units: number;
  readonly inner: readonly InnerInstructionMeta[];
  readonly returnData: { readonly programId: string; readonly data: string } | null;
  /** `[length] text`, parts joined by `; `, as clients expect it. */
  readonly memo: string | null;
  /** What the lookups of the message stood for; not there where it has none. */
  readonly loaded?: LoadedAddresses;
}

export function lamportsOf(message: Message, accounts: AccountReader): string[] {
  return message.keys.map((key) => accounts.get(key).lamports.toString());
}

export function tokensOf(message: Message, accounts: AccountReader): TokenBalance[] {
  const found: TokenBalance[] = [];
  for (const [accountIndex, key] of message.keys.entries()) {
    const { owner, data } = accounts.get(key);
    if (owner !== tokenProgram || data.length !== tokenAccountSize) continue;
    const token = decodeTokenAccount(data);
    const { mint, amount } = token;
    const decimals = decimalsOf(accounts, mint);
    found.push({ accountIndex, mint, owner: token.owner, amount: amount.toString(), decimals });
  }
  return found;
}

/** Of a token; 0 where there is no mint. */
export function decimalsOf(accounts: AccountReader, mint: SolanaAddress): number {
  const { data } = accounts.get(mint);
  return data.length === mintSize ? decodeMint(data).decimals : 0;
}

export function innerOf(message: Message, execution: Execution): InnerInstructionMeta[] {
  const place = new Map(message.keys.map((key, index) => [key, index]));
  const at = (address: SolanaAddress) => place.get(address) ?? 0;
  return execution.inner.map(({ outer, depth, instruction }) => ({
    outer,
    programIdIndex: at(instruction.programId),
    accounts: instruction.accounts.map((meta) => at(meta.address)),
    data: encodeBase58(instruction.data),
    stackHeight: depth + 1,
  }));
}

export function memoOf(message: Message): string | null {
  const parts = message.instructions
    .filter(({ programIndex }) => {
      const program = message.keys[programIndex];
      return program === memoProgram || program === memoProgramV1;
    })
    .map(({ data }) => `[${data.length}] ${data.toString('utf8')}`);
  return parts.length === 0 ? null : parts.join('; ');
}
