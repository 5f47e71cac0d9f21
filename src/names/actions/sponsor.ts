/** Whether the service can pay the registry for what it sells. */
import { associatedTokenAddress, decodeTokenAccount, tokenAccountSize } from '../../formats/solana/token.ts';
import { sponsorEmpty } from '../errors.ts';
import type { ActionContext } from './context.ts';

/** What the service has of the token that names are paid in. */
export async function sponsorTokens(
  context: Pick<ActionContext, 'chain' | 'registry' | 'key'>,
): Promise<bigint> {
  const { mint } = context.registry.programs;
  const account = await context.chain.account(associatedTokenAddress(context.key.address, mint));
  return account?.data.length === tokenAccountSize ? decodeTokenAccount(account.data).amount : 0n;
}

export function requireSponsor(tokens: bigint, needed: bigint): void {
  if (tokens < needed) throw sponsorEmpty();
}
