/** Instructions of the name registry program: their arguments, and the accounts each one takes, in order. */
import { arnsAddresses, purchaseType } from './accounts-arns.ts';
import type { SolanaAddress } from './address.ts';
import { type Arguments, instructionKind } from './anchor.ts';
import { address, choice, option, seconds, string, u8, u16 } from './codec.ts';
import { type Instruction, readOnly, signer, writable, writableSigner } from './message.ts';
import { type NamePrograms, systemProgram, tokenProgram } from './programs.ts';
import { associatedTokenAddress } from './token.ts';

const buyNameFields = { name: string, type: purchaseType, years: u8, ant: address };

export const arnsInstructions = {
  buyName: instructionKind('buy_name', buyNameFields),
  buyReturnedName: instructionKind('buy_returned_name', buyNameFields),
  extendLease: instructionKind('extend_lease', { years: u8 }),
  upgradeName: instructionKind('upgrade_name', {}),
  increaseUndernameLimit: instructionKind('increase_undername_limit', { quantity: u16 }),
  reassignName: instructionKind('reassign_name', { newAnt: address }),
  releaseName: instructionKind('release_name', {}),
  pruneNameToReturned: instructionKind('prune_name_to_returned', {}),
  pruneReturnedNames: instructionKind('prune_returned_names', { max: u8 }),
  updateDemandFactor: instructionKind('update_demand_factor', {}),
  getTokenCost: instructionKind('get_token_cost', {
    intent: choice(
      'buy-name',
      'extend-lease',
      'upgrade-name',
      'increase-undername-limit',
      'primary-name-request',
    ),
    name: string,
    years: option(u8),
    quantity: option(u16),
    type: option(purchaseType),
  }),
  reserveName: instructionKind('reserve_name', {
    name: string,
    holder: option(address),
    expiresAt: option(seconds),
  }),
  unreserveName: instructionKind('unreserve_name', {}),
};

export type BuyName = Arguments<typeof arnsInstructions.buyName>;
export type GetTokenCost = Arguments<typeof arnsInstructions.getTokenCost>;
export type ReserveName = Arguments<typeof arnsInstructions.reserveName>;

/** Builders for one cluster's programs. The treasury is the registry's own setting, read from its config. */
export function arnsBuilder(programs: NamePrograms, treasury: SolanaAddress) {
  const { arns, mint } = programs;
  const at = arnsAddresses(arns);
  const config = at.config().address;
  const demand = at.demandFactor().address;
  const registry = at.registry().address;
  const tokens = (owner: SolanaAddress) => associatedTokenAddress(owner, mint);
  return {
    buyName: (buyer: SolanaAddress, args: BuyName): Instruction =>
      arnsInstructions.buyName.build(arns, args, [
        writable(config),
        writable(demand),
        writable(at.record(args.name).address),
        writable(registry),
        writable(tokens(buyer)),
        writable(treasury),
        writable(at.reserved(args.name).address),
        readOnly(at.returned(args.name).address),
        writableSigner(buyer),
        readOnly(tokenProgram),
        readOnly(systemProgram),
      ]),
    buyReturnedName: (buyer: SolanaAddress, initiator: SolanaAddress, args: BuyName): Instruction =>
      arnsInstructions.buyReturnedName.build(arns, args, [
        writable(config),
        writable(demand),
        writable(at.returned(args.name).address),
        writable(at.record(args.name).address),
        writable(registry),
        writable(tokens(buyer)),
        writable(treasury),
        writable(tokens(initiator)),
        writableSigner(buyer),
        readOnly(tokenProgram),
        readOnly(systemProgram),
      ]),
    extendLease: (caller: SolanaAddress, name: string, years: number): Instruction =>
      arnsInstructions.extendLease.build(arns, { years }, [
        writable(config),
        writable(demand),
        writable(at.record(name).address),
        writable(tokens(caller)),
        writable(treasury),
        writableSigner(caller),
        readOnly(tokenProgram),
      ]),
    upgradeName: (caller: SolanaAddress, name: string): Instruction =>
      arnsInstructions.upgradeName.build(arns, {}, paidAccounts(caller, name)),
    increaseUndernameLimit: (caller: SolanaAddress, name: string, quantity: number): Instruction =>
      arnsInstructions.increaseUndernameLimit.build(arns, { quantity }, paidAccounts(caller, name)),
    reassignName: (
      caller: SolanaAddress,
      name: string,
      ant: SolanaAddress,
      newAnt: SolanaAddress,
    ): Instruction =>
      arnsInstructions.reassignName.build(arns, { newAnt }, [
        readOnly(config),
        writable(at.record(name).address),
        readOnly(ant),
        writableSigner(caller),
        readOnly(systemProgram),
      ]),
    releaseName: (caller: SolanaAddress, name: string, ant: SolanaAddress): Instruction =>
      arnsInstructions.releaseName.build(arns, {}, [
        ...returningAccounts(name),
        readOnly(ant),
        writableSigner(caller),
        readOnly(systemProgram),
      ]),
    pruneNameToReturned: (payer: SolanaAddress, name: string): Instruction =>
      arnsInstructions.pruneNameToReturned.build(arns, {}, [
        ...returningAccounts(name),
        writableSigner(payer),
        readOnly(systemProgram),
      ]),
    pruneReturnedNames: (payer: SolanaAddress, names: readonly string[]): Instruction =>
      arnsInstructions.pruneReturnedNames.build(arns, { max: names.length }, [
        writable(config),
        writableSigner(payer),
        readOnly(systemProgram),
        ...names.map((name) => writable(at.returned(name).address)),
      ]),
    updateDemandFactor: (payer: SolanaAddress): Instruction =>
      arnsInstructions.updateDemandFactor.build(arns, {}, [writable(demand), writableSigner(payer)]),
    getTokenCost: (payer: SolanaAddress, args: GetTokenCost): Instruction =>
      arnsInstructions.getTokenCost.build(arns, args, [readOnly(demand), signer(payer)]),
    reserveName: (authority: SolanaAddress, args: ReserveName): Instruction =>
      arnsInstructions.reserveName.build(arns, args, [
        readOnly(config),
        writable(at.reserved(args.name).address),
        writableSigner(authority),
        readOnly(systemProgram),
      ]),
    unreserveName: (authority: SolanaAddress, name: string): Instruction =>
      arnsInstructions.unreserveName.build(arns, {}, [
        readOnly(config),
        writable(at.reserved(name).address),
        writableSigner(authority),
      ]),
  };

  function returningAccounts(name: string) {
    return [
      writable(config),
      writable(at.record(name).address),
      writable(at.returned(name).address),
      writable(registry),
    ];
  }

  function paidAccounts(caller: SolanaAddress, name: string) {
    return [
      readOnly(config),
      writable(demand),
      writable(at.record(name).address),
      writable(tokens(caller)),
      writable(treasury),
      writableSigner(caller),
      readOnly(tokenProgram),
      readOnly(systemProgram),
    ];
  }
}

export type ArnsBuilder = ReturnType<typeof arnsBuilder>;
