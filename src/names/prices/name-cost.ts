/** What a purchase costs in name tokens now, or why it cannot be made: pure, from what the chain says. */
import type { DemandFactor } from '../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import {
  baseFee,
  extendableYears,
  extensionPrice,
  gracePeriodSeconds,
  permabuyPrice,
  registrationPrice,
  returnedNamePrice,
  rollDemandFactor,
  undernamePrice,
} from '../../formats/solana/name-prices.ts';
import type { NameState } from '../../registry/name-registry.ts';
import { badRequest, nameExists, nameMissing, namePermanent, nameReserved } from '../errors.ts';
import type { Purchase } from '../requests/action.ts';

/**
 * `now` in Unix seconds; `buyer` is the key that pays the registry. The demand factor is rolled to it first, so that
 * a quote equals the charge.
 */
export function nameCost(
  purchase: Purchase,
  state: NameState,
  demand: DemandFactor,
  now: number,
  buyer?: SolanaAddress,
): bigint {
  const { name } = purchase;
  const { factor, fees } = rollDemandFactor(demand, now);
  const fee = baseFee({ ...demand, fees }, name);
  if (purchase.action === 'buy-name') {
    checkFree(name, state, now, buyer);
    const price = registrationPrice(fee, factor, purchase.type, purchase.years);
    return state.returned ? returnedNamePrice(price, state.returned.returnedAt, now) : price;
  }
  const { record } = state;
  if (record === undefined) throw nameMissing(name);
  const { end } = record;
  const left = end === undefined ? Number.POSITIVE_INFINITY : end - now;
  switch (purchase.action) {
    case 'upgrade-name':
      if (end === undefined) throw namePermanent(name);
      if (left < -gracePeriodSeconds) throw nameMissing(name);
      return permabuyPrice(fee, factor);
    case 'extend-lease': {
      if (end === undefined) throw namePermanent(name);
      if (left < -gracePeriodSeconds) throw nameMissing(name);
      const years = extendableYears(end, now);
      if (purchase.years > years) {
        throw badRequest(
          `Name ${name} can be extended by at most ${years} years: a lease runs for at most 5`,
        );
      }
      return extensionPrice(fee, factor, purchase.years);
    }
    case 'increase-undername-limit':
      if (left < 0) throw badRequest(`The lease of name ${name} has run out: extend it first`);
      if (record.undernameLimit + purchase.quantity > 65_535) {
        throw badRequest(`Name ${name} can have at most 65535 undernames`);
      }
      return undernamePrice(fee, factor, record.type, purchase.quantity);
  }
}

/** A reserved name is sold to the one it is reserved for: `buyer` is who pays the registry. */
function checkFree(
  name: string,
  { record, reserved }: NameState,
  now: number,
  buyer: SolanaAddress | undefined,
): void {
  if (record !== undefined) throw nameExists(name);
  if (reserved === undefined || (reserved.expiresAt !== undefined && reserved.expiresAt <= now)) return;
  if (buyer === undefined || reserved.reservedFor !== buyer) throw nameReserved(name);
}
