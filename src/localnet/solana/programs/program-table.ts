/**
 * The programs of the local ledger, each a function over the accounts of one call. Names, layouts, derived
 * addresses and error codes are those of the public programs; the code is this project's own.
 */
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import {
  associatedTokenProgram,
  computeBudgetProgram,
  coreProgram,
  memoProgram,
  memoProgramV1,
  type NamePrograms,
  systemProgram,
  tokenProgram,
} from '../../../formats/solana/programs.ts';
import type { Program } from '../runtime/invocation.ts';
import { anchorProgram } from './anchor.ts';
import { aclHandlers } from './ant/acl.ts';
import { authorityHandlers } from './ant/authority.ts';
import { initializeHandlers } from './ant/initialize.ts';
import { recordHandlers } from './ant/records.ts';
import { manageHandlers } from './arns/manage.ts';
import { purchaseHandlers } from './arns/purchase.ts';
import { upkeepHandlers } from './arns/upkeep.ts';
import { associatedToken } from './associated-token.ts';
import { core } from './core.ts';
import { memo } from './memo.ts';
import { system } from './system.ts';
import { token } from './token.ts';

/** Does nothing when run: its settings were read before (runtime/budget.ts). */
const computeBudget: Program = { units: () => 150, run: () => {} };

/** Names are sold, extended, widened, returned and auctioned here. */
const arns = anchorProgram([...purchaseHandlers, ...manageHandlers, ...upkeepHandlers]);

/** The name tokens: what a name points at, and who may say so. */
const ant = (arnsProgram: SolanaAddress): Program =>
  anchorProgram([
    ...initializeHandlers,
    ...recordHandlers,
    ...authorityHandlers(arnsProgram),
    ...aclHandlers,
  ]);

export function programTable(names: NamePrograms): ReadonlyMap<SolanaAddress, Program> {
  return new Map([
    [systemProgram, system],
    [computeBudgetProgram, computeBudget],
    [tokenProgram, token],
    [associatedTokenProgram, associatedToken],
    [memoProgram, memo],
    [memoProgramV1, memo],
    [coreProgram, core],
    [names.arns, arns],
    [names.ant, ant(names.arns)],
  ]);
}
