/** What a Solana transaction did, in words: from its log, its parsed instructions and the balances before and after. */
import { isRecord, memberOf, textOf } from '../../../formats/json.ts';
import { texts } from '../../texts.ts';

const words = texts.local.solana;

const programs: Readonly<Record<string, string>> = {
  '11111111111111111111111111111111': words.programs.system,
  TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA: words.programs.token,
  ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL: words.programs.associatedToken,
  ComputeBudget111111111111111111111111111111: words.programs.computeBudget,
  MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr: words.programs.memo,
  Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo: words.programs.memo,
  CoREENxT6tW1HoK8ypY1SxRMZTcVPm7R94rH4PZNhX7d: words.programs.core,
  AddressLookupTab1e1111111111111111111111111: words.programs.lookupTable,
};

/** Undefined where only its address is known. */
export const programName = (address: string): string | undefined =>
  Object.hasOwn(programs, address) ? programs[address] : undefined;

const instructionLine = /^Program log: Instruction: ([A-Za-z0-9 ]{1,60})$/;
const invokeLine = /^Program ([1-9A-HJ-NP-Za-km-z]{32,44}) invoke \[1\]$/;

/** What programs say they were told to do, each once, in order; else which programs were called. */
export function summaryOf(logs: readonly string[]): string {
  const told = logs.flatMap((line) => instructionLine.exec(line)?.[1] ?? []);
  // Accounts that are made on the way are not what it is about.
  const acts = told.filter((title) => !title.startsWith('Initialize'));
  if (told.length > 0) return [...new Set(acts.length > 0 ? acts : told)].map(inWords).join(', ');
  const called = logs.flatMap((line) => invokeLine.exec(line)?.[1] ?? []);
  const names = called.flatMap((address) => programName(address) ?? []);
  const others = names.filter((name) => name !== words.programs.computeBudget);
  if (others.includes(words.programs.system)) return words.transfer;
  return others.length > 0 ? [...new Set(others)].join(', ') : words.unknown;
}

/** `BuyName` as `Buy name`. */
function inWords(title: string): string {
  const spaced = title.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return `${spaced.slice(0, 1).toUpperCase()}${spaced.slice(1)}`;
}

export interface Instruction {
  readonly program: string;
  /** As a node names it where it can spell the instruction out. */
  readonly type: string | undefined;
  readonly values: unknown;
  readonly accounts: readonly string[];
  readonly data: string | undefined;
}

export interface BalanceChange {
  readonly account: string;
  /** Smallest units. */
  readonly change: bigint;
  readonly now: bigint;
  readonly decimals: number;
  /** Address of the token; undefined for SOL. */
  readonly mint: string | undefined;
}

export interface SolanaDetails {
  readonly instructions: readonly Instruction[];
  readonly changes: readonly BalanceChange[];
  readonly logs: readonly string[];
  readonly fee: bigint;
  readonly slot: number | undefined;
  /** Unix milliseconds. */
  readonly at: number | undefined;
  /** Undefined where it succeeded. */
  readonly error: string | undefined;
}

const solDecimals = 9;
const mostShown = 64;

/** Of what `getTransaction` answered; every part that is not there is left out. */
export function detailsOf(answer: unknown): SolanaDetails {
  const [meta, transaction] = [memberOf(answer, 'meta'), memberOf(answer, 'transaction')];
  const message = memberOf(transaction, 'message');
  const keys = listOf(message, 'accountKeys').map((key) =>
    typeof key === 'string' ? key : (textOf(key, 'pubkey') ?? ''),
  );
  const err = memberOf(meta, 'err');
  const [slot, time] = [memberOf(answer, 'slot'), memberOf(answer, 'blockTime')];
  return {
    instructions: listOf(message, 'instructions').map(instructionOf),
    changes: [...solChanges(meta, keys), ...tokenChanges(meta, keys)],
    logs: listOf(meta, 'logMessages').filter((line) => typeof line === 'string'),
    fee: amountOf(memberOf(meta, 'fee')),
    slot: typeof slot === 'number' ? slot : undefined,
    at: typeof time === 'number' ? time * 1_000 : undefined,
    error: err === null || err === undefined ? undefined : JSON.stringify(err),
  };
}

function instructionOf(value: unknown): Instruction {
  const parsed = memberOf(value, 'parsed');
  return {
    program: textOf(value, 'programId') ?? '',
    type: typeof parsed === 'string' ? parsed.slice(0, 200) : textOf(parsed, 'type', 100),
    values: memberOf(parsed, 'info'),
    accounts: listOf(value, 'accounts').filter((account) => typeof account === 'string'),
    data: textOf(value, 'data', 2_000),
  };
}

function solChanges(meta: unknown, keys: readonly string[]): BalanceChange[] {
  const [before, after] = [listOf(meta, 'preBalances'), listOf(meta, 'postBalances')];
  return keys.flatMap((account, index) => {
    const [had, now] = [amountOf(before[index]), amountOf(after[index])];
    return had === now ? [] : [{ account, change: now - had, now, decimals: solDecimals, mint: undefined }];
  });
}

function tokenChanges(meta: unknown, keys: readonly string[]): BalanceChange[] {
  const [before, after] = [tokensOf(meta, 'preTokenBalances'), tokensOf(meta, 'postTokenBalances')];
  const places = new Set([...before.keys(), ...after.keys()]);
  return [...places].flatMap((index) => {
    const [had, has] = [before.get(index), after.get(index)];
    const known = has ?? had;
    const [then, now] = [had?.amount ?? 0n, has?.amount ?? 0n];
    if (known === undefined || then === now) return [];
    const account = known.owner ?? keys[index] ?? '';
    return [{ account, change: now - then, now, decimals: known.decimals, mint: known.mint }];
  });
}

function tokensOf(meta: unknown, name: string) {
  return new Map(
    listOf(meta, name).map((entry) => {
      const amount = memberOf(entry, 'uiTokenAmount');
      const decimals = memberOf(amount, 'decimals');
      return [
        Number(memberOf(entry, 'accountIndex')),
        {
          amount: amountOf(textOf(amount, 'amount')),
          decimals: typeof decimals === 'number' ? decimals : 0,
          mint: textOf(entry, 'mint', 64),
          owner: textOf(entry, 'owner', 64),
        },
      ] as const;
    }),
  );
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = isRecord(value) ? value[name] : undefined;
  return Array.isArray(list) ? list.slice(0, name === 'logMessages' ? 1_000 : mostShown) : [];
}

function amountOf(value: unknown): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return typeof value === 'string' && /^\d{1,40}$/.test(value) ? BigInt(value) : 0n;
}
