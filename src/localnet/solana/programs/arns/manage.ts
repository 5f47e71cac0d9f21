/** What may be paid for on a registered name (by anybody), and what only the holder of its ANT may do. */
import {
  arnsConfig,
  arnsRecord,
  returnedName,
  schemaVersion,
} from '../../../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../../../formats/solana/address.ts';
import { coreAssetOwner } from '../../../../formats/solana/core-asset.ts';
import { arnsInstructions } from '../../../../formats/solana/instructions-arns.ts';
import {
  baseFee,
  extendableYears,
  extensionPrice,
  permabuyPrice,
  undernamePrice,
  yearSeconds,
} from '../../../../formats/solana/name-prices.ts';
import type { DerivedAddress } from '../../../../formats/solana/pda.ts';
import { coreProgram, tokenProgram } from '../../../../formats/solana/programs.ts';
import { parsed } from '../../runtime/errors.ts';
import { type AnchorCall, type Handler, handler } from '../anchor.ts';
import {
  at,
  insist,
  isActive,
  isActiveOrInGrace,
  pay,
  refuse,
  takeConfig,
  takeDemand,
  takeRecord,
  takeRegistry,
  takeTokens,
  takeTreasury,
  tally,
} from './context.ts';
import { removeFromRegistry } from './registry.ts';

const maxUndernames = 0xffff;

export const manageHandlers: readonly Handler[] = [
  handler(arnsInstructions.extendLease, 40_000, (anchor, { years }) => extendLease(anchor, years)),
  handler(arnsInstructions.upgradeName, 40_000, upgradeName),
  handler(arnsInstructions.increaseUndernameLimit, 40_000, (anchor, { quantity }) =>
    increaseUndernameLimit(anchor, quantity),
  ),
  handler(arnsInstructions.reassignName, 20_000, (anchor, { newAnt }) => reassignName(anchor, newAnt)),
  handler(arnsInstructions.releaseName, 35_000, releaseName),
];

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

function extendLease(anchor: AnchorCall, years: number): void {
  const { config, factor, record, tokens, treasury, caller } = takePaidChange(anchor, 'w');

  const { type, end, name } = record.value;
  insist(type === 'lease', anchor, 'CannotExtendPermanent');
  insist(isActiveOrInGrace(record.value, anchor.now, config.value.gracePeriod), anchor, 'RecordExpired');
  insist(years >= 1, anchor, 'InvalidLeaseDuration');
  if (end === undefined) refuse(anchor, 'InvalidParameter');
  insist(years <= extendableYears(end, anchor.now), anchor, 'ExtensionExceedsMax');
  const price = extensionPrice(baseFee(factor.value, name), factor.value.factor, years);
  pay(anchor, tokens, caller, treasury, price);
  record.value = { ...record.value, end: end + years * yearSeconds };
  anchor.save(arnsRecord, record);
  tally(anchor, factor, price);
  anchor.call.log(`Lease extended by ${years} years for ${price}`);
}

function upgradeName(anchor: AnchorCall): void {
  const { config, factor, record, tokens, treasury, caller } = takePaidChange(anchor, 'r');
  anchor.systemProgram();

  insist(record.value.type === 'lease', anchor, 'AlreadyPermanent');
  insist(isActiveOrInGrace(record.value, anchor.now, config.value.gracePeriod), anchor, 'RecordExpired');
  const price = permabuyPrice(baseFee(factor.value, record.value.name), factor.value.factor);
  pay(anchor, tokens, caller, treasury, price);
  record.value = { ...record.value, type: 'permabuy', end: undefined, purchasePrice: price };
  anchor.save(arnsRecord, record);
  tally(anchor, factor, price);
  anchor.call.log(`Name '${record.value.name}' upgraded for ${price}`);
}

function increaseUndernameLimit(anchor: AnchorCall, quantity: number): void {
  const { factor, record, tokens, treasury, caller } = takePaidChange(anchor, 'r');
  anchor.systemProgram();

  insist(quantity > 0, anchor, 'InvalidUndernameQuantity');
  insist(isActive(record.value, anchor.now), anchor, 'RecordExpired');
  const { name, type, undernameLimit } = record.value;
  const price = undernamePrice(baseFee(factor.value, name), factor.value.factor, type, quantity);
  pay(anchor, tokens, caller, treasury, price);
  insist(undernameLimit + quantity <= maxUndernames, anchor, 'ArithmeticOverflow');
  record.value = { ...record.value, undernameLimit: undernameLimit + quantity };
  anchor.save(arnsRecord, record);
  tally(anchor, factor, price);
  anchor.call.log(`Undername limit increased by ${quantity} for ${price}`);
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

function reassignName(anchor: AnchorCall, newAnt: SolanaAddress): void {
  const config = takeConfig(anchor, 'r');
  const record = takeRecord(anchor);
  const asset = anchor.any();
  const caller = anchor.signer('caller');
  anchor.systemProgram();
  requireHolder(anchor, record.value.ant, asset, caller);
  const inGrace = isActiveOrInGrace(record.value, anchor.now, config.value.gracePeriod);
  if (!isActive(record.value, anchor.now)) refuse(anchor, inGrace ? 'InGracePeriod' : 'RecordExpired');
  insist(newAnt !== record.value.ant, anchor, 'InvalidParameter');
  record.value = { ...record.value, ant: newAnt };
  anchor.save(arnsRecord, record);
}

function releaseName(anchor: AnchorCall): void {
  const config = takeConfig(anchor, 'w');
  const record = takeRecord(anchor);
  const { name, nameHash, type, ant } = record.value;
  const returned = anchor.derived(at(anchor).returned(name), 'returned_name');
  const registry = takeRegistry(anchor);
  const asset = anchor.any();
  const caller = anchor.signer('caller');
  anchor.systemProgram();
  requireHolder(anchor, ant, asset, caller);
  insist(type === 'permabuy', anchor, 'CannotReleaseLease');
  openAuction(anchor, config, { name, nameHash, initiator: caller, payer: caller, returned });
  removeFromRegistry(anchor.call, registry, nameHash);
  anchor.call.close(record.address, caller);
}

interface Auction {
  readonly name: string;
  readonly nameHash: Buffer;
  /** Who gets half of what the auction brings. */
  readonly initiator: SolanaAddress;
  readonly payer: SolanaAddress;
  readonly returned: DerivedAddress;
}

/** Puts a name up for auction and takes it out of the count of registered ones. */
export function openAuction(
  anchor: AnchorCall,
  config: ReturnType<typeof takeConfig>,
  auction: Auction,
): void {
  const { name, nameHash, initiator, payer, returned } = auction;
  anchor.create(returnedName, payer, returned, {
    name,
    nameHash,
    initiator,
    returnedAt: anchor.now,
    bump: returned.bump,
    version: schemaVersion,
  });
  const { totalNames, nextReturnedPrune, auctionDuration } = config.value;
  const prune = BigInt(anchor.now + auctionDuration);
  config.value = {
    ...config.value,
    totalNames: totalNames > 0n ? totalNames - 1n : 0n,
    nextReturnedPrune: prune < nextReturnedPrune ? prune : nextReturnedPrune,
  };
  anchor.save(arnsConfig, config);
}
