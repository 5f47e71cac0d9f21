/** How programs make accounts at addresses derived from them: also where somebody sent lamports there before. */
import { addressBytes, type SolanaAddress } from '../../../formats/solana/address.ts';
import { Writer } from '../../../formats/solana/bytes.ts';
import { writableSigner } from '../../../formats/solana/message.ts';
import type { DerivedAddress } from '../../../formats/solana/pda.ts';
import { rentExemptMinimum, systemProgram } from '../../../formats/solana/programs.ts';
import { createAccount, systemInstruction, transferLamports } from '../../../formats/solana/system.ts';
import type { Invocation } from '../runtime/invocation.ts';

/** The account must be empty: a used one fails with "already in use". */
export function createDerivedAccount(
  call: Invocation,
  payer: SolanaAddress,
  { address, seeds }: DerivedAddress,
  space: number,
  owner: SolanaAddress = call.programId,
): void {
  const held = call.account(address).lamports;
  const rent = rentExemptMinimum(space);
  if (held === 0n) {
    call.invoke(createAccount(payer, address, rent, space, owner), seeds);
    return;
  }
  if (held < rent) call.invoke(transferLamports(payer, address, rent - held));
  const system = (data: Buffer) => ({ programId: systemProgram, accounts: [writableSigner(address)], data });
  call.invoke(system(new Writer().u32(systemInstruction.allocate).u64(BigInt(space)).finish()), seeds);
  call.invoke(system(new Writer().u32(systemInstruction.assign).bytes(addressBytes(owner)).finish()), seeds);
}
