/**
 * The programs of the local ledger, each a function over the accounts of one call. Names, layouts, derived
 * addresses and error codes are those of the public programs; the code is this project's own.
 */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import {
  associatedTokenProgram,
  computeBudgetProgram,
  coreProgram,
  lookupTableProgram,
  memoProgram,
  memoProgramV1,
  type NamePrograms,
  namePrograms,
  systemProgram,
  tokenProgram,
} from '../../../formats/solana/programs.ts';
import type { Program } from '../runtime/invocation.ts';
import { ant } from './ant.ts';
import { arns } from './arns.ts';
import { associatedToken } from './associated-token.ts';
import { core } from './core.ts';
import { lookupTable } from './lookup-table.ts';
import { memo } from './memo.ts';
import { system } from './system.ts';
import { token } from './token.ts';

/** Does nothing when run: its settings were read before (runtime/budget.ts). */
const computeBudget: Program = { units: () => 150, run: () => {} };

/** A token may name any program as its own: the one that governs tokens is here at every address that it has anywhere. */
const antPrograms = (names: NamePrograms): SolanaAddress[] => [
  ...new Set([names.ant, ...Object.values(namePrograms).map((one) => one.ant)]),
];

export function programTable(names: NamePrograms): ReadonlyMap<SolanaAddress, Program> {
  return new Map<SolanaAddress, Program>([
    [systemProgram, system],
    [computeBudgetProgram, computeBudget],
    [tokenProgram, token],
    [associatedTokenProgram, associatedToken],
    [memoProgram, memo],
    [memoProgramV1, memo],
    [lookupTableProgram, lookupTable],
    [coreProgram, core],
    [names.arns, arns],
    ...antPrograms(names).map((address) => [address, ant(names.arns)] as const),
  ]);
}
