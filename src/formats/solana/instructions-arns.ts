/** Instructions of the name registry program: their arguments, and the accounts each one takes, in order. */
import { arnsAddresses, type PurchaseType, purchaseType } from './accounts-arns.ts';
import type { SolanaAddress } from './address.ts';
import { address, choice, option, seconds, string, struct, u8, u16 } from './codec.ts';
import { instructionKind, type NoArguments, r, s, w, ws } from './instruction-kind.ts';
import type { Instruction } from './message.ts';
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
          w(config),
          w(demand),
          w(at.record(args.name).address),
          w(registry),
          w(tokens(buyer)),
          w(treasury),
          w(at.reserved(args.name).address),
          r(at.returned(args.name).address),
          ws(buyer),
          r(tokenProgram),
          r(systemProgram),
        ],
        args,
      ),
    buyReturnedName: (buyer: SolanaAddress, initiator: SolanaAddress, args: BuyName): Instruction =>
      arnsInstructions.buyReturnedName.build(
        arns,
        [
          w(config),
          w(demand),
          w(at.returned(args.name).address),
          w(at.record(args.name).address),
          w(registry),
          w(tokens(buyer)),
          w(treasury),
          w(tokens(initiator)),
          ws(buyer),
          r(tokenProgram),
          r(systemProgram),
        ],
        args,
      ),
    extendLease: (caller: SolanaAddress, name: string, years: number): Instruction =>
      arnsInstructions.extendLease.build(
        arns,
        [
          w(config),
          w(demand),
          w(at.record(name).address),
          w(tokens(caller)),
          w(treasury),
          ws(caller),
          r(tokenProgram),
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
        [r(config), w(at.record(name).address), r(ant), ws(caller), r(systemProgram)],
        { newAnt },
      ),
    releaseName: (caller: SolanaAddress, name: string, ant: SolanaAddress): Instruction =>
      arnsInstructions.releaseName.build(
        arns,
        [
          w(config),
          w(at.record(name).address),
          w(at.returned(name).address),
          w(registry),
          r(ant),
          ws(caller),
          r(systemProgram),
        ],
        {},
      ),
    pruneNameToReturned: (payer: SolanaAddress, name: string): Instruction =>
      arnsInstructions.pruneNameToReturned.build(
        arns,
        [
          w(config),
          w(at.record(name).address),
          w(at.returned(name).address),
          w(registry),
          ws(payer),
          r(systemProgram),
        ],
        {},
      ),
    pruneReturnedNames: (payer: SolanaAddress, names: readonly string[]): Instruction =>
      arnsInstructions.pruneReturnedNames.build(
        arns,
        [w(config), ws(payer), r(systemProgram), ...names.map((name) => w(at.returned(name).address))],
        { max: names.length },
      ),
    updateDemandFactor: (payer: SolanaAddress): Instruction =>
      arnsInstructions.updateDemandFactor.build(arns, [w(demand), ws(payer)], {}),
    getTokenCost: (payer: SolanaAddress, args: GetTokenCost): Instruction =>
      arnsInstructions.getTokenCost.build(arns, [r(demand), s(payer)], args),
    reserveName: (authority: SolanaAddress, args: ReserveName): Instruction =>
      arnsInstructions.reserveName.build(
        arns,
        [r(config), w(at.reserved(args.name).address), ws(authority), r(systemProgram)],
        args,
      ),
    unreserveName: (authority: SolanaAddress, name: string): Instruction =>
      arnsInstructions.unreserveName.build(
        arns,
        [r(config), w(at.reserved(name).address), ws(authority)],
        {},
      ),
  };

  function paidAccounts(caller: SolanaAddress, name: string) {
    return [
      r(config),
      w(demand),
      w(at.record(name).address),
      w(tokens(caller)),
      w(treasury),
      ws(caller),
      r(tokenProgram),
      r(systemProgram),
    ];
  }
}

export type ArnsBuilder = ReturnType<typeof arnsBuilder>;
