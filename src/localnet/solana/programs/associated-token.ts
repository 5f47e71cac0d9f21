/** The associated token program: makes the one token account a wallet is expected to use for a mint. */
import { addressBytes, type SolanaAddress } from '../../../formats/solana/address.ts';
import { Writer } from '../../../formats/solana/bytes.ts';
import { readOnly, signer, writable } from '../../../formats/solana/message.ts';
import { findProgramAddress } from '../../../formats/solana/pda.ts';
import { systemProgram, tokenProgram } from '../../../formats/solana/programs.ts';
import {
  decodeMint,
  decodeTokenAccount,
  tokenAccountSize,
  tokenInstruction,
} from '../../../formats/solana/token.ts';
import { fail, parsed } from '../runtime/errors.ts';
import type { Invocation, Program } from '../runtime/invocation.ts';
import { createDerivedAccount } from './anchor.ts';

const recoverNestedKind = 2;

export const associatedToken: Program = {
  units: () => 15_000,
  run(call) {
    const kind = call.data[0] ?? 0;
    if (call.data.length > 1 || kind > recoverNestedKind) fail('InvalidInstructionData');
    if (kind === recoverNestedKind) {
      recoverNested(call);
      return;
    }
    const idempotent = kind === 1;
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

/** Tokens that were sent to the associated account of an associated account go to the wallet behind both. */
function recoverNested(call: Invocation): void {
  const [nested, nestedMint, destination, owner, ownerMint, wallet] = [0, 1, 2, 3, 4, 5].map((place) =>
    call.address(place),
  );
  if (!nested || !nestedMint || !destination || !owner || !ownerMint || !wallet) fail('NotEnoughAccountKeys');
  if (call.address(6) !== tokenProgram) fail('IncorrectProgramId');
  const derive = (holder: SolanaAddress, mint: SolanaAddress) =>
    findProgramAddress(
      [addressBytes(holder), addressBytes(tokenProgram), addressBytes(mint)],
      call.programId,
    );
  const between = derive(wallet, ownerMint);
  if (between.address !== owner) fail('InvalidSeeds');
  if (derive(owner, nestedMint).address !== nested) fail('InvalidSeeds');
  if (derive(wallet, nestedMint).address !== destination) fail('InvalidSeeds');
  call.requireSigner(wallet);
  const isToken = (address: SolanaAddress) => call.account(address).owner === tokenProgram;
  if (!isToken(ownerMint) || !isToken(owner)) fail('IllegalOwner');
  const read = (address: SolanaAddress) =>
    parsed(() => decodeTokenAccount(call.account(address).data), 'InvalidAccountData');
  if (read(owner).owner !== wallet) fail('IllegalOwner');
  if (!isToken(nested)) fail('IllegalOwner');
  const held = read(nested);
  if (held.owner !== owner) fail('IllegalOwner');
  if (!isToken(nestedMint)) fail('IllegalOwner');
  const { decimals } = parsed(() => decodeMint(call.account(nestedMint).data), 'InvalidAccountData');
  call.invoke(
    {
      programId: tokenProgram,
      accounts: [writable(nested), readOnly(nestedMint), writable(destination), signer(owner)],
      data: new Writer().u8(tokenInstruction.transferChecked).u64(held.amount).u8(decimals).finish(),
    },
    between.seeds,
  );
  call.invoke(
    {
      programId: tokenProgram,
      accounts: [writable(nested), writable(wallet), signer(owner)],
      data: Uint8Array.of(tokenInstruction.closeAccount),
    },
    between.seeds,
  );
}
