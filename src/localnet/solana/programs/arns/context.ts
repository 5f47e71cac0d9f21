/** The accounts that open the registry's instructions, and the payment every priced one makes. */
import {
  type ArnsConfig,
  type ArnsRecord,
  arnsAddresses,
  arnsConfig,
  arnsRecord,
  type DemandFactor,
  demandFactor,
} from '../../../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../../../formats/solana/address.ts';
import { rollDemandFactor } from '../../../../formats/solana/name-prices.ts';
import { type ArnsErrorName, arnsError } from '../../../../formats/solana/program-errors.ts';
import { tokenProgram } from '../../../../formats/solana/programs.ts';
import { decodeTokenAccount, type TokenAccount, transferToken } from '../../../../formats/solana/token.ts';
import { parsed } from '../../runtime/errors.ts';
import { type AnchorCall, failAnchor, failProgram, type Typed } from '../anchor.ts';

export function refuse(anchor: AnchorCall, name: ArnsErrorName): never {
  failProgram(anchor.call, arnsError(name));
}

export function insist(condition: boolean, anchor: AnchorCall, name: ArnsErrorName): void {
  if (!condition) refuse(anchor, name);
}

export const at = (anchor: AnchorCall) => arnsAddresses(anchor.call.programId);

export function takeConfig(anchor: AnchorCall, rights: 'w' | 'r'): Typed<ArnsConfig> {
  return anchor.typed(arnsConfig, 'config', rights, () => at(anchor).config());
}

/** The demand factor, rolled to now: whatever is priced from it is the price of this moment. */
export function takeDemand(anchor: AnchorCall): Typed<DemandFactor> {
  const taken = anchor.typed(demandFactor, 'demand_factor', 'w', () => at(anchor).demandFactor());
  taken.value = rollDemandFactor(taken.value, anchor.now);
  return taken;
}

export function takeRecord(anchor: AnchorCall): Typed<ArnsRecord> {
  return anchor.typed(arnsRecord, 'arns_record', 'w', (record) => at(anchor).record(record.name));
}

export function takeRegistry(anchor: AnchorCall): SolanaAddress {
  return anchor.derived(at(anchor).registry(), 'name_registry').address;
}

function tokenAccount(anchor: AnchorCall, address: SolanaAddress, name: string): TokenAccount {
  const account = anchor.call.account(address);
  if (account.owner !== tokenProgram) failAnchor(anchor.call, 'AccountOwnedByWrongProgram', name);
  return parsed(() => decodeTokenAccount(account.data), 'InvalidAccountData');
}

/** A token account of the registry's mint at the next place. */
export function takeTokens(
  anchor: AnchorCall,
  config: ArnsConfig,
  name: string,
): { address: SolanaAddress; account: TokenAccount } {
  const address = anchor.writable(name);
  const account = tokenAccount(anchor, address, name);
  if (account.mint !== config.mint) failAnchor(anchor.call, 'ConstraintRaw', name);
  return { address, account };
}

export function takeTreasury(anchor: AnchorCall, config: ArnsConfig): SolanaAddress {
  const { address } = takeTokens(anchor, config, 'protocol_token_account');
  insist(address === config.treasury, anchor, 'InvalidTreasury');
  return address;
}

/** Takes the price from the caller's tokens. */
export function pay(
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
export function tally(anchor: AnchorCall, factor: Typed<DemandFactor>, price: bigint): void {
  factor.value = {
    ...factor.value,
    purchases: factor.value.purchases + 1n,
    revenue: factor.value.revenue + price,
  };
  anchor.save(demandFactor, factor);
}

export function isActive(record: ArnsRecord, now: number): boolean {
  return record.end === undefined || record.end >= now;
}

export function isActiveOrInGrace(record: ArnsRecord, now: number, grace: number): boolean {
  return record.end === undefined || record.end + grace >= now;
}
