/** The associated token program: makes the one token account a wallet is expected to use for a mint. */
import { addressBytes } from '../../../formats/solana/address.ts';
import { Writer } from '../../../formats/solana/bytes.ts';
import { readOnly, writable } from '../../../formats/solana/message.ts';
import { findProgramAddress } from '../../../formats/solana/pda.ts';
import { systemProgram, tokenProgram } from '../../../formats/solana/programs.ts';
import { decodeTokenAccount, tokenAccountSize, tokenInstruction } from '../../../formats/solana/token.ts';
import { fail, parsed } from '../runtime/errors.ts';
import type { Program } from '../runtime/invocation.ts';
import { createDerivedAccount } from './anchor.ts';

export const associatedToken: Program = {
  units: () => 15_000,
  run(call) {
    const idempotent = call.data[0] === 1;
    if (call.data.length > 1 || (call.data[0] ?? 0) > 1) fail('InvalidInstructionData');
    const payer = call.address(0);
    const address = call.address(1);
    const wallet = call.address(2);
    const mint = call.address(3);
    if (call.address(4) !== systemProgram || call.address(5) !== tokenProgram) fail('IncorrectProgramId');
    const seeds = [addressBytes(wallet), addressBytes(tokenProgram), addressBytes(mint)];
    const derived = findProgramAddress(seeds, call.programId);
    if (derived.address !== address) {
      call.log('Error: Associated address does not match seed derivation');
      fail('InvalidSeeds');
    }
    const existing = call.account(address);
    if (idempotent && existing.owner === tokenProgram) {
      const account = parsed(() => decodeTokenAccount(existing.data), 'InvalidAccountData');
      if (account.owner !== wallet) fail('IllegalOwner');
      if (account.mint !== mint) fail('InvalidAccountData');
      return;
    }
    if (existing.owner !== systemProgram) fail('IllegalOwner');
    createDerivedAccount(call, payer, derived, tokenAccountSize, tokenProgram);
    call.invoke({
      programId: tokenProgram,
      accounts: [writable(address), readOnly(mint)],
      data: new Writer().u8(tokenInstruction.initializeAccount3).bytes(addressBytes(wallet)).finish(),
    });
  },
};
