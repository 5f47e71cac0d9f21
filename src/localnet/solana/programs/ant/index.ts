/** The name-token (ANT) program: what a name points at, and who may say so. */
import type { SolanaAddress } from '../../../../formats/solana/address.ts';
import type { Program } from '../../runtime/invocation.ts';
import { anchorProgram } from '../anchor.ts';
import { aclHandlers } from './acl.ts';
import { authorityHandlers } from './authority.ts';
import { initializeHandlers } from './initialize.ts';
import { recordHandlers } from './records.ts';

export function ant(arnsProgram: SolanaAddress): Program {
  return anchorProgram([
    ...initializeHandlers,
    ...recordHandlers,
    ...authorityHandlers(arnsProgram),
    ...aclHandlers,
  ]);
}
