/** What anybody may do to keep the registry tidy, what only its authority may, and the price query. */
import {
  demandFactor,
  reservedName,
  returnedName,
  schemaVersion,
} from '../../../../formats/solana/accounts-arns.ts';
import {
  arnsInstructions,
  type GetTokenCost,
  type ReserveName,
} from '../../../../formats/solana/instructions-arns.ts';
import {
  baseFee,
  extensionPrice,
  permabuyPrice,
  registrationPrice,
  rollDemandFactor,
  undernamePrice,
} from '../../../../formats/solana/name-prices.ts';
import { isArnsName } from '../../../../formats/solana/name-rules.ts';
import { type AnchorCall, type Handler, handler } from '../anchor.ts';
import {
  at,
  insist,
  isActiveOrInGrace,
  refuse,
  takeConfig,
  takeDemand,
  takeRecord,
  takeRegistry,
} from './context.ts';
import { openAuction } from './manage.ts';
import { removeFromRegistry } from './registry.ts';

export const upkeepHandlers: readonly Handler[] = [
  handler(arnsInstructions.pruneNameToReturned, 35_000, pruneNameToReturned),
  handler(arnsInstructions.pruneReturnedNames, 25_000, (anchor, { max }) => pruneReturnedNames(anchor, max)),
  handler(arnsInstructions.updateDemandFactor, 10_000, updateDemandFactor),
  handler(arnsInstructions.getTokenCost, 8_000, getTokenCost),
  handler(arnsInstructions.reserveName, 20_000, reserveName),
  handler(arnsInstructions.unreserveName, 10_000, unreserveName),
];

/** A lease past its grace period goes to auction; what it brings is the protocol's. */
function pruneNameToReturned(anchor: AnchorCall): void {
  const config = takeConfig(anchor, 'w');
  const record = takeRecord(anchor);
  const { name, nameHash } = record.value;
  const returned = anchor.derived(at(anchor).returned(name), 'returned_name');
  const registry = takeRegistry(anchor);
  const payer = anchor.signer('payer');
  anchor.systemProgram();
  const alive = isActiveOrInGrace(record.value, anchor.now, config.value.gracePeriod);
  insist(!alive, anchor, 'NameStillActive');
  openAuction(anchor, config, { name, nameHash, initiator: config.address, payer, returned });
  removeFromRegistry(anchor.call, registry, nameHash);
  anchor.call.close(record.address, payer);
}

/** Auctions whose time is over are closed; accounts that are none are passed over. */
function pruneReturnedNames(anchor: AnchorCall, max: number): void {
  const config = takeConfig(anchor, 'w');
  const payer = anchor.signer('payer');
  anchor.systemProgram();
  let pruned = 0;
  for (const address of anchor.rest().slice(0, max)) {
    const account = anchor.call.account(address);
    if (account.owner !== anchor.call.programId || !returnedName.matches(account.data)) continue;
    const { name, returnedAt } = anchor.decode(returnedName, address, 'returned_name');
    if (at(anchor).returned(name).address !== address) continue;
    if (anchor.now < returnedAt + config.value.auctionDuration) continue;
    anchor.call.close(address, payer);
    pruned += 1;
  }
  anchor.call.log(`Pruned ${pruned} returned names`);
}

function updateDemandFactor(anchor: AnchorCall): void {
  const factor = takeDemand(anchor);
  anchor.signer('payer');
  const before = anchor.decode(demandFactor, factor.address, 'demand_factor');
  insist(before.period !== factor.value.period, anchor, 'DemandFactorNotReady');
  anchor.save(demandFactor, factor);
}

/** Answers the price as return data, for simulation. */
function getTokenCost(anchor: AnchorCall, args: GetTokenCost): void {
  const stored = anchor.typed(demandFactor, 'demand_factor', 'r', () => at(anchor).demandFactor()).value;
  anchor.signer('payer', 'r');
  const factor = rollDemandFactor(stored, anchor.now);
  if (!isArnsName(args.name)) refuse(anchor, 'InvalidNameFormat');
  const cost = costOf(anchor, args, baseFee(factor, args.name), factor.factor, factor.fees.at(-1) ?? 0n);
  const data = Buffer.alloc(8);
  data.writeBigUInt64LE(cost);
  anchor.call.returns(data);
}

function costOf(
  anchor: AnchorCall,
  args: GetTokenCost,
  fee: bigint,
  factor: bigint,
  lastFee: bigint,
): bigint {
  const years = args.years;
  switch (args.intent) {
    case 'buy-name':
      return registrationPrice(fee, factor, args.type ?? (years === 0 ? 'permabuy' : 'lease'), years ?? 1);
    case 'extend-lease':
      return years === undefined ? refuse(anchor, 'InvalidParameter') : extensionPrice(fee, factor, years);
    case 'upgrade-name':
      return permabuyPrice(fee, factor);
    case 'increase-undername-limit':
      if (args.quantity === undefined || args.type === undefined) refuse(anchor, 'InvalidParameter');
      return undernamePrice(fee, factor, args.type, args.quantity);
    case 'primary-name-request':
      return undernamePrice(lastFee, factor, args.type ?? 'lease', 1);
  }
}

function reserveName(anchor: AnchorCall, args: ReserveName): void {
  const config = takeConfig(anchor, 'r');
  const derived = anchor.derived(at(anchor).reserved(args.name), 'reserved_name');
  const authority = anchor.signer('authority');
  anchor.systemProgram();
  insist(config.value.authority === authority, anchor, 'Unauthorized');
  insist(isArnsName(args.name), anchor, 'InvalidNameFormat');
  anchor.create(reservedName, authority, derived, {
    name: args.name,
    reservedFor: args.holder,
    expiresAt: args.expiresAt,
    reservedBy: authority,
    createdAt: anchor.now,
    bump: derived.bump,
    version: schemaVersion,
  });
}

function unreserveName(anchor: AnchorCall): void {
  const config = takeConfig(anchor, 'r');
  const reserved = anchor.typed(reservedName, 'reserved_name', 'w', ({ name }) => at(anchor).reserved(name));
  const authority = anchor.signer('authority');
  insist(config.value.authority === authority, anchor, 'Unauthorized');
  anchor.call.close(reserved.address, authority);
}
