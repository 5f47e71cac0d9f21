/** The registry: names are sold, extended, widened, returned and auctioned here. */
import {
  type ArnsConfig,
  type ArnsRecord,
  arnsAddresses,
  arnsConfig,
  arnsRecord,
  type DemandFactor,
  demandFactor,
  hashName,
  nameRegistry,
  reservedName,
  returnedName,
} from '../../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { coreAssetOwner } from '../../../formats/solana/core-asset.ts';
import {
  arnsInstructions,
  type BuyName,
  type GetTokenCost,
} from '../../../formats/solana/instructions-arns.ts';
import {
  baseFee,
  extendableYears,
  extensionPrice,
  maxLeaseYears,
  permabuyPrice,
  registrationPrice,
  returnedNamePrice,
  rollDemandFactor,
  undernamePrice,
  yearSeconds,
} from '../../../formats/solana/name-prices.ts';
import { defaultUndernameLimit, isArnsName } from '../../../formats/solana/name-rules.ts';
import type { DerivedAddress } from '../../../formats/solana/pda.ts';
import { type ArnsErrorName, arnsError } from '../../../formats/solana/program-errors.ts';
import { coreProgram, tokenProgram } from '../../../formats/solana/programs.ts';
import { decodeTokenAccount, type TokenAccount, transferToken } from '../../../formats/solana/token.ts';
import { parsed } from '../runtime/errors.ts';
import type { Invocation } from '../runtime/invocation.ts';
import {
  type AnchorCall,
  anchorProgram,
  failAnchor,
  failProgram,
  handler,
  stamp,
  type Typed,
} from './anchor.ts';

export const arns = anchorProgram([
  handler(arnsInstructions.buyName, 60_000, (anchor, args) => {
    const config = takeConfig(anchor, 'w');
    const factor = takeDemand(anchor);
    const record = anchor.derived(at(anchor).record(args.name), 'arns_record');
    const registry = takeRegistry(anchor);
    const tokens = takeTokens(anchor, config.value, 'buyer_token_account');
    const treasury = takeTreasury(anchor, config.value);
    const reserved = anchor.writable('reserved_name_check');
    const returned = anchor.any();
    const buyer = anchor.signer('buyer');
    anchor.program(tokenProgram, 'token_program');
    anchor.systemProgram();

    insist(isArnsName(args.name), anchor, 'InvalidNameFormat');
    insist(reserved === at(anchor).reserved(args.name).address, anchor, 'InvalidParameter');
    insist(returned === at(anchor).returned(args.name).address, anchor, 'InvalidParameter');
    checkReservation(anchor, reserved, buyer);
    if (anchor.exists(returned)) refuse(anchor, 'AuctionActive');
    const price = priceOf(anchor, factor.value, args);
    pay(anchor, tokens, buyer, treasury, price);
    register(anchor, config, record, registry, buyer, args, price);
    tally(anchor, factor, price);
    if (anchor.exists(reserved)) anchor.call.close(reserved, buyer);
    anchor.call.log(`Name '${args.name}' purchased for ${price}`);
  }),

  handler(arnsInstructions.buyReturnedName, 70_000, (anchor, args) => {
    const config = takeConfig(anchor, 'w');
    const factor = takeDemand(anchor);
    const returned = anchor.typed(returnedName, 'returned_name', 'w', () => at(anchor).returned(args.name));
    const record = anchor.derived(at(anchor).record(args.name), 'arns_record');
    const registry = takeRegistry(anchor);
    const tokens = takeTokens(anchor, config.value, 'buyer_token_account');
    const treasury = takeTreasury(anchor, config.value);
    const initiatorTokens = takeTokens(anchor, config.value, 'initiator_token_account');
    const buyer = anchor.signer('buyer');
    anchor.program(tokenProgram, 'token_program');
    anchor.systemProgram();

    insist(isArnsName(args.name), anchor, 'InvalidNameFormat');
    const { initiator, returnedAt } = returned.value;
    insist(initiatorTokens.account.owner === initiator, anchor, 'InvalidParameter');
    const price = returnedNamePrice(priceOf(anchor, factor.value, args), returnedAt, anchor.now);
    // The owner of a name that was given back earns half; of one that the protocol took back, nothing.
    const share = initiator === config.address ? 0n : price - price / 2n;
    pay(anchor, tokens, buyer, treasury, price - share);
    if (share > 0n) pay(anchor, tokens, buyer, initiatorTokens.address, share);
    register(anchor, config, record, registry, buyer, args, price);
    tally(anchor, factor, price);
    anchor.call.close(returned.address, buyer);
    anchor.call.log(`Returned name '${args.name}' purchased for ${price}`);
  }),

  handler(arnsInstructions.extendLease, 40_000, (anchor, { years }) => {
    const { config, factor, record, tokens, treasury, caller } = takePaidChange(anchor, 'w');

    const { type, end, name } = record.value;
    insist(type === 'lease', anchor, 'CannotExtendPermanent');
    insist(isActiveOrInGrace(record.value, anchor.now, config.value.gracePeriod), anchor, 'RecordExpired');
    insist(years >= 1, anchor, 'InvalidLeaseDuration');
    if (end === undefined) refuse(anchor, 'InvalidParameter');
    insist(years <= extendableYears(end, anchor.now), anchor, 'ExtensionExceedsMax');
    const price = extensionPrice(baseFee(factor.value, name), factor.value.factor, years);
    pay(anchor, tokens, caller, treasury, price);
    anchor.save(arnsRecord, record, { end: end + years * yearSeconds });
    tally(anchor, factor, price);
    anchor.call.log(`Lease extended by ${years} years for ${price}`);
  }),

  handler(arnsInstructions.upgradeName, 40_000, (anchor) => {
    const { config, factor, record, tokens, treasury, caller } = takePaidChange(anchor, 'r');
    anchor.systemProgram();

    insist(record.value.type === 'lease', anchor, 'AlreadyPermanent');
    insist(isActiveOrInGrace(record.value, anchor.now, config.value.gracePeriod), anchor, 'RecordExpired');
    const price = permabuyPrice(baseFee(factor.value, record.value.name), factor.value.factor);
    pay(anchor, tokens, caller, treasury, price);
    anchor.save(arnsRecord, record, { type: 'permabuy', end: undefined, purchasePrice: price });
    tally(anchor, factor, price);
    anchor.call.log(`Name '${record.value.name}' upgraded for ${price}`);
  }),

  handler(arnsInstructions.increaseUndernameLimit, 40_000, (anchor, { quantity }) => {
    const { factor, record, tokens, treasury, caller } = takePaidChange(anchor, 'r');
    anchor.systemProgram();

    insist(quantity > 0, anchor, 'InvalidUndernameQuantity');
    insist(isActive(record.value, anchor.now), anchor, 'RecordExpired');
    const { name, type, undernameLimit } = record.value;
    const price = undernamePrice(baseFee(factor.value, name), factor.value.factor, type, quantity);
    pay(anchor, tokens, caller, treasury, price);
    insist(undernameLimit + quantity <= maxUndernames, anchor, 'ArithmeticOverflow');
    anchor.save(arnsRecord, record, { undernameLimit: undernameLimit + quantity });
    tally(anchor, factor, price);
    anchor.call.log(`Undername limit increased by ${quantity} for ${price}`);
  }),

  handler(arnsInstructions.reassignName, 20_000, (anchor, { newAnt }) => {
    const config = takeConfig(anchor, 'r');
    const record = takeRecord(anchor);
    const asset = anchor.any();
    const caller = anchor.signer('caller');
    anchor.systemProgram();
    requireHolder(anchor, record.value.ant, asset, caller);
    const inGrace = isActiveOrInGrace(record.value, anchor.now, config.value.gracePeriod);
    if (!isActive(record.value, anchor.now)) refuse(anchor, inGrace ? 'InGracePeriod' : 'RecordExpired');
    insist(newAnt !== record.value.ant, anchor, 'InvalidParameter');
    anchor.save(arnsRecord, record, { ant: newAnt });
  }),

  handler(arnsInstructions.releaseName, 35_000, (anchor) => {
    const name = takeReturnable(anchor);
    const asset = anchor.any();
    const caller = anchor.signer('caller');
    anchor.systemProgram();
    const { type, ant } = name.record.value;
    requireHolder(anchor, ant, asset, caller);
    insist(type === 'permabuy', anchor, 'CannotReleaseLease');
    openAuction(anchor, name, caller, caller);
  }),

  /** A lease past its grace period goes to auction; what it brings is the protocol's. */
  handler(arnsInstructions.pruneNameToReturned, 35_000, (anchor) => {
    const name = takeReturnable(anchor);
    const payer = anchor.signer('payer');
    anchor.systemProgram();
    const { config, record } = name;
    const alive = isActiveOrInGrace(record.value, anchor.now, config.value.gracePeriod);
    insist(!alive, anchor, 'NameStillActive');
    openAuction(anchor, name, config.address, payer);
  }),

  /** Auctions whose time is over are closed; accounts that are none are passed over. */
  handler(arnsInstructions.pruneReturnedNames, 25_000, (anchor, { max }) => {
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
  }),

  handler(arnsInstructions.updateDemandFactor, 10_000, (anchor) => {
    const factor = takeDemand(anchor);
    anchor.signer('payer');
    const before = anchor.decode(demandFactor, factor.address, 'demand_factor');
    insist(before.period !== factor.value.period, anchor, 'DemandFactorNotReady');
    anchor.save(demandFactor, factor);
  }),

  /** Answers the price as return data, for simulation. */
  handler(arnsInstructions.getTokenCost, 8_000, (anchor, args) => {
    const stored = anchor.typed(demandFactor, 'demand_factor', 'r', () => at(anchor).demandFactor()).value;
    anchor.signer('payer', 'r');
    const factor = rollDemandFactor(stored, anchor.now);
    if (!isArnsName(args.name)) refuse(anchor, 'InvalidNameFormat');
    const cost = costOf(anchor, args, baseFee(factor, args.name), factor.factor, factor.fees.at(-1) ?? 0n);
    const data = Buffer.alloc(8);
    data.writeBigUInt64LE(cost);
    anchor.call.returns(data);
  }),

  handler(arnsInstructions.reserveName, 20_000, (anchor, args) => {
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
      ...stamp(derived),
    });
  }),

  handler(arnsInstructions.unreserveName, 10_000, (anchor) => {
    const config = takeConfig(anchor, 'r');
    const reserved = anchor.typed(reservedName, 'reserved_name', 'w', ({ name }) =>
      at(anchor).reserved(name),
    );
    const authority = anchor.signer('authority');
    insist(config.value.authority === authority, anchor, 'Unauthorized');
    anchor.call.close(reserved.address, authority);
  }),
]);

function refuse(anchor: AnchorCall, name: ArnsErrorName): never {
  failProgram(anchor.call, arnsError(name));
}

function insist(condition: boolean, anchor: AnchorCall, name: ArnsErrorName): void {
  if (!condition) refuse(anchor, name);
}

const at = (anchor: AnchorCall) => arnsAddresses(anchor.call.programId);

function takeConfig(anchor: AnchorCall, rights: 'w' | 'r'): Typed<ArnsConfig> {
  return anchor.typed(arnsConfig, 'config', rights, () => at(anchor).config());
}

/** The demand factor, rolled to now: whatever is priced from it is the price of this moment. */
function takeDemand(anchor: AnchorCall): Typed<DemandFactor> {
  const taken = anchor.typed(demandFactor, 'demand_factor', 'w', () => at(anchor).demandFactor());
  taken.value = rollDemandFactor(taken.value, anchor.now);
  return taken;
}

function takeRecord(anchor: AnchorCall): Typed<ArnsRecord> {
  return anchor.typed(arnsRecord, 'arns_record', 'w', (record) => at(anchor).record(record.name));
}

function takeRegistry(anchor: AnchorCall): SolanaAddress {
  return anchor.derived(at(anchor).registry(), 'name_registry').address;
}

function tokenAccount(anchor: AnchorCall, address: SolanaAddress, name: string): TokenAccount {
  const account = anchor.call.account(address);
  if (account.owner !== tokenProgram) failAnchor(anchor.call, 'AccountOwnedByWrongProgram', name);
  return parsed(() => decodeTokenAccount(account.data), 'InvalidAccountData');
}

/** A token account of the registry's mint at the next place. */
function takeTokens(
  anchor: AnchorCall,
  config: ArnsConfig,
  name: string,
): { address: SolanaAddress; account: TokenAccount } {
  const address = anchor.writable(name);
  const account = tokenAccount(anchor, address, name);
  if (account.mint !== config.mint) failAnchor(anchor.call, 'ConstraintRaw', name);
  return { address, account };
}

function takeTreasury(anchor: AnchorCall, config: ArnsConfig): SolanaAddress {
  const { address } = takeTokens(anchor, config, 'protocol_token_account');
  insist(address === config.treasury, anchor, 'InvalidTreasury');
  return address;
}

/** Takes the price from the caller's tokens. */
function pay(
  anchor: AnchorCall,
  from: { address: SolanaAddress; account: TokenAccount },
  caller: SolanaAddress,
  to: SolanaAddress,
  amount: bigint,
): void {
  if (from.account.owner !== caller) failAnchor(anchor.call, 'ConstraintRaw', 'token_account');
  anchor.call.invoke(transferToken(from.address, to, caller, amount));
}

/** Counts a sale into the running period. */
function tally(anchor: AnchorCall, factor: Typed<DemandFactor>, price: bigint): void {
  anchor.save(demandFactor, factor, {
    purchases: factor.value.purchases + 1n,
    revenue: factor.value.revenue + price,
  });
}

function isActive(record: ArnsRecord, now: number): boolean {
  return record.end === undefined || record.end >= now;
}

function isActiveOrInGrace(record: ArnsRecord, now: number, grace: number): boolean {
  return record.end === undefined || record.end + grace >= now;
}

const { headSize, slotSize } = nameRegistry;

function addToRegistry(call: Invocation, registry: SolanaAddress, nameHash: Uint8Array): void {
  const data = Buffer.from(call.account(registry).data);
  const { authority, count } = nameRegistry.head(data);
  const offset = headSize + count * slotSize;
  if (offset + slotSize > data.length) failProgram(call, arnsError('RegistryFull'));
  nameRegistry.encodeSlot(nameHash, count).copy(data, offset);
  nameRegistry.encodeHead({ authority, count: count + 1 }).copy(data);
  call.writeData(registry, data);
}

function removeFromRegistry(call: Invocation, registry: SolanaAddress, nameHash: Uint8Array): void {
  const data = Buffer.from(call.account(registry).data);
  const { authority, count } = nameRegistry.head(data);
  for (let index = 0; index < count; index += 1) {
    const offset = headSize + index * slotSize;
    if (!data.subarray(offset, offset + 32).equals(nameHash)) continue;
    const last = headSize + (count - 1) * slotSize;
    if (offset !== last) nameRegistry.encodeSlot(data.subarray(last, last + 32), index).copy(data, offset);
    data.fill(0, last, last + slotSize);
    nameRegistry.encodeHead({ authority, count: count - 1 }).copy(data);
    call.writeData(registry, data);
    return;
  }
}

/** A reserved name is sold to its holder alone, until the reservation ends. */
function checkReservation(anchor: AnchorCall, reserved: SolanaAddress, buyer: SolanaAddress): void {
  if (!anchor.exists(reserved)) return;
  const { reservedFor, expiresAt } = anchor.decode(reservedName, reserved, 'reserved_name_check');
  if (expiresAt !== undefined && anchor.now >= expiresAt) return;
  insist(reservedFor === buyer, anchor, 'NameReserved');
}

function priceOf(
  anchor: AnchorCall,
  factor: Parameters<typeof baseFee>[0] & { factor: bigint },
  args: BuyName,
): bigint {
  if (args.type === 'lease') {
    insist(args.years >= 1 && args.years <= maxLeaseYears, anchor, 'InvalidLeaseDuration');
  }
  const price = registrationPrice(baseFee(factor, args.name), factor.factor, args.type, args.years);
  insist(price > 0n, anchor, 'InvalidParameter');
  return price;
}

function register(
  anchor: AnchorCall,
  config: Typed<ArnsConfig>,
  record: DerivedAddress,
  registry: SolanaAddress,
  buyer: SolanaAddress,
  args: BuyName,
  price: bigint,
): void {
  const nameHash = hashName(args.name);
  const end = args.type === 'lease' ? anchor.now + args.years * yearSeconds : undefined;
  anchor.create(arnsRecord, buyer, record, {
    nameHash,
    owner: buyer,
    ant: args.ant,
    type: args.type,
    start: anchor.now,
    end,
    undernameLimit: defaultUndernameLimit,
    purchasePrice: price,
    name: args.name,
    ...stamp(record),
  });
  const prune = end === undefined ? config.value.nextRecordsPrune : BigInt(end + config.value.gracePeriod);
  anchor.save(arnsConfig, config, {
    totalNames: config.value.totalNames + 1n,
    nextRecordsPrune: prune < config.value.nextRecordsPrune ? prune : config.value.nextRecordsPrune,
  });
  addToRegistry(anchor.call, registry, nameHash);
}

const maxUndernames = 0xffff;

/** The accounts that every paid change of a record begins with, in the program's order. */
function takePaidChange(anchor: AnchorCall, configAccess: 'r' | 'w') {
  const config = takeConfig(anchor, configAccess);
  const factor = takeDemand(anchor);
  const record = takeRecord(anchor);
  const tokens = takeTokens(anchor, config.value, 'caller_token_account');
  const treasury = takeTreasury(anchor, config.value);
  const caller = anchor.signer('caller');
  anchor.program(tokenProgram, 'token_program');
  return { config, factor, record, tokens, treasury, caller };
}

/** The holder of the asset the record points at, or a refusal. */
function requireHolder(
  anchor: AnchorCall,
  ant: SolanaAddress,
  asset: SolanaAddress,
  caller: SolanaAddress,
): void {
  const account = anchor.call.account(asset);
  insist(asset === ant && account.owner === coreProgram, anchor, 'InvalidAntAsset');
  const owner = parsed(() => coreAssetOwner(account.data), 'InvalidAccountData');
  insist(owner === caller, anchor, 'NotAntHolder');
}

/** The accounts that taking a name out of the registry begins with, in the program's order. */
function takeReturnable(anchor: AnchorCall) {
  const config = takeConfig(anchor, 'w');
  const record = takeRecord(anchor);
  const returned = anchor.derived(at(anchor).returned(record.value.name), 'returned_name');
  return { config, record, returned, registry: takeRegistry(anchor) };
}

/** Takes a name out of the registry and puts it up for auction; `initiator` gets half of what that brings. */
function openAuction(
  anchor: AnchorCall,
  { config, record, returned, registry }: ReturnType<typeof takeReturnable>,
  initiator: SolanaAddress,
  payer: SolanaAddress,
): void {
  const { name, nameHash } = record.value;
  const auction = { name, nameHash, initiator, returnedAt: anchor.now, ...stamp(returned) };
  anchor.create(returnedName, payer, returned, auction);
  const { totalNames, nextReturnedPrune, auctionDuration } = config.value;
  const prune = BigInt(anchor.now + auctionDuration);
  anchor.save(arnsConfig, config, {
    totalNames: totalNames > 0n ? totalNames - 1n : 0n,
    nextReturnedPrune: prune < nextReturnedPrune ? prune : nextReturnedPrune,
  });
  removeFromRegistry(anchor.call, registry, nameHash);
  anchor.call.close(record.address, payer);
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
