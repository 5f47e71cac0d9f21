/** Instructions of the name registry program: their arguments, and the accounts each one takes, in order. */
import { arnsAddresses, type PurchaseType, purchaseType } from './accounts-arns.ts';
import type { SolanaAddress } from './address.ts';
import { instructionKind, type NoArguments } from './anchor.ts';
import { address, choice, option, seconds, string, struct, u8, u16 } from './codec.ts';
import { type Instruction, readOnly, signer, writable, writableSigner } from './message.ts';
import { type NamePrograms, systemProgram, tokenProgram } from './programs.ts';
import { associatedTokenAddress } from './token.ts';

export interface BuyName {
  name: string;
  type: PurchaseType;
  years: number;
  ant: SolanaAddress;
}

const buyNameArguments = struct<BuyName>({ name: string, type: purchaseType, years: u8, ant: address });

export interface ReserveName {
  name: string;
  holder: SolanaAddress | undefined;
  expiresAt: number | undefined;
}

export type CostIntent =
  | 'buy-name'
  | 'extend-lease'
  | 'upgrade-name'
  | 'increase-undername-limit'
  | 'primary-name-request';

export interface GetTokenCost {
  intent: CostIntent;
  name: string;
  years: number | undefined;
  quantity: number | undefined;
  type: PurchaseType | undefined;
}

const nothing = struct<NoArguments>({});

export const arnsInstructions = {
  buyName: instructionKind('buy_name', buyNameArguments),
  buyReturnedName: instructionKind('buy_returned_name', buyNameArguments),
  extendLease: instructionKind('extend_lease', struct<{ years: number }>({ years: u8 })),
  upgradeName: instructionKind('upgrade_name', nothing),
  increaseUndernameLimit: instructionKind(
    'increase_undername_limit',
    struct<{ quantity: number }>({ quantity: u16 }),
  ),
  reassignName: instructionKind('reassign_name', struct<{ newAnt: SolanaAddress }>({ newAnt: address })),
  releaseName: instructionKind('release_name', nothing),
  pruneNameToReturned: instructionKind('prune_name_to_returned', nothing),
  pruneReturnedNames: instructionKind('prune_returned_names', struct<{ max: number }>({ max: u8 })),
  updateDemandFactor: instructionKind('update_demand_factor', nothing),
  getTokenCost: instructionKind(
    'get_token_cost',
    struct<GetTokenCost>({
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
  ),
  reserveName: instructionKind(
    'reserve_name',
    struct<ReserveName>({ name: string, holder: option(address), expiresAt: option(seconds) }),
  ),
  unreserveName: instructionKind('unreserve_name', nothing),
};

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
      arnsInstructions.buyName.build(
        arns,
        [
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
        ],
        args,
      ),
    buyReturnedName: (buyer: SolanaAddress, initiator: SolanaAddress, args: BuyName): Instruction =>
      arnsInstructions.buyReturnedName.build(
        arns,
        [
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
        ],
        args,
      ),
    extendLease: (caller: SolanaAddress, name: string, years: number): Instruction =>
      arnsInstructions.extendLease.build(
        arns,
        [
          writable(config),
          writable(demand),
          writable(at.record(name).address),
          writable(tokens(caller)),
          writable(treasury),
          writableSigner(caller),
          readOnly(tokenProgram),
        ],
        { years },
      ),
    upgradeName: (caller: SolanaAddress, name: string): Instruction =>
      arnsInstructions.upgradeName.build(arns, paidAccounts(caller, name), {}),
    increaseUndernameLimit: (caller: SolanaAddress, name: string, quantity: number): Instruction =>
      arnsInstructions.increaseUndernameLimit.build(arns, paidAccounts(caller, name), { quantity }),
    reassignName: (
      caller: SolanaAddress,
      name: string,
      ant: SolanaAddress,
      newAnt: SolanaAddress,
    ): Instruction =>
      arnsInstructions.reassignName.build(
        arns,
        [
          readOnly(config),
          writable(at.record(name).address),
          readOnly(ant),
          writableSigner(caller),
          readOnly(systemProgram),
        ],
        { newAnt },
      ),
    releaseName: (caller: SolanaAddress, name: string, ant: SolanaAddress): Instruction =>
      arnsInstructions.releaseName.build(
        arns,
        [...returningAccounts(name), readOnly(ant), writableSigner(caller), readOnly(systemProgram)],
        {},
      ),
    pruneNameToReturned: (payer: SolanaAddress, name: string): Instruction =>
      arnsInstructions.pruneNameToReturned.build(
        arns,
        [...returningAccounts(name), writableSigner(payer), readOnly(systemProgram)],
        {},
      ),
    pruneReturnedNames: (payer: SolanaAddress, names: readonly string[]): Instruction =>
      arnsInstructions.pruneReturnedNames.build(
        arns,
        [
          writable(config),
          writableSigner(payer),
          readOnly(systemProgram),
          ...names.map((name) => writable(at.returned(name).address)),
        ],
        { max: names.length },
      ),
    updateDemandFactor: (payer: SolanaAddress): Instruction =>
      arnsInstructions.updateDemandFactor.build(arns, [writable(demand), writableSigner(payer)], {}),
    getTokenCost: (payer: SolanaAddress, args: GetTokenCost): Instruction =>
      arnsInstructions.getTokenCost.build(arns, [readOnly(demand), signer(payer)], args),
    reserveName: (authority: SolanaAddress, args: ReserveName): Instruction =>
      arnsInstructions.reserveName.build(
        arns,
        [
          readOnly(config),
          writable(at.reserved(args.name).address),
          writableSigner(authority),
          readOnly(systemProgram),
        ],
        args,
      ),
    unreserveName: (authority: SolanaAddress, name: string): Instruction =>
      arnsInstructions.unreserveName.build(
        arns,
        [readOnly(config), writable(at.reserved(name).address), writableSigner(authority)],
        {},
      ),
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
