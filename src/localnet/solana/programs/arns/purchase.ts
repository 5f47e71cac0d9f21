/** Buying names: free ones, and ones in a returned-name auction. */
import {
  type ArnsConfig,
  arnsConfig,
  arnsRecord,
  hashName,
  reservedName,
  returnedName,
  schemaVersion,
} from '../../../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../../../formats/solana/address.ts';
import { arnsInstructions, type BuyName } from '../../../../formats/solana/instructions-arns.ts';
import {
  baseFee,
  maxLeaseYears,
  registrationPrice,
  returnedNamePrice,
  yearSeconds,
} from '../../../../formats/solana/name-prices.ts';
import { defaultUndernameLimit, isArnsName } from '../../../../formats/solana/name-rules.ts';
import type { DerivedAddress } from '../../../../formats/solana/pda.ts';
import { tokenProgram } from '../../../../formats/solana/programs.ts';
import { type AnchorCall, type Handler, handler, type Typed } from '../anchor.ts';
import {
  at,
  insist,
  pay,
  refuse,
  takeConfig,
  takeDemand,
  takeRegistry,
  takeTokens,
  takeTreasury,
  tally,
} from './context.ts';
import { addToRegistry } from './registry.ts';

export const purchaseHandlers: readonly Handler[] = [
  handler(arnsInstructions.buyName, 60_000, buyName),
  handler(arnsInstructions.buyReturnedName, 70_000, buyReturnedName),
];

function buyName(anchor: AnchorCall, args: BuyName): void {
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
}

function buyReturnedName(anchor: AnchorCall, args: BuyName): void {
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
    bump: record.bump,
    name: args.name,
    version: schemaVersion,
  });
  const prune = end === undefined ? config.value.nextRecordsPrune : BigInt(end + config.value.gracePeriod);
  config.value = {
    ...config.value,
    totalNames: config.value.totalNames + 1n,
    nextRecordsPrune: prune < config.value.nextRecordsPrune ? prune : config.value.nextRecordsPrune,
  };
  anchor.save(arnsConfig, config);
  addToRegistry(anchor.call, registry, nameHash);
}
